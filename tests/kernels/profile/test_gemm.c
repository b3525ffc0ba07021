#include <criterion/criterion.h>

#include "kernels/profile/gemm.h"

static const struct profile_model llama_8b = {
    .layers = 32,
    .hidden = 4096,
    .heads = 32,
    .kv_heads = 8,
    .head_dim = 128,
    .ffn = 14336,
    .vocab = 128256,
};

/* 8.03 G parameters, of which the 0.53 G of the embedding multiply nothing. */
Test(profile_gemm, operations_of_a_known_model)
{
    double flops = profile_linear_flops(&llama_8b, 1, 1, false);
    cr_expect_float_eq(flops / 2, 7.504e9, 1e6, "%g parameters", flops / 2);
    cr_expect_float_eq(profile_linear_flops(&llama_8b, 1, 10, true), 30 * flops, 1);
}

Test(profile_gemm, ranks_share_what_divides)
{
    double whole = profile_linear_flops(&llama_8b, 1, 1, false);
    cr_expect_float_eq(profile_linear_flops(&llama_8b, 8, 1, false), whole / 8, 1);
}

/* 8 KV heads over 16 ranks: each holds one, so keys and values are computed twice. */
Test(profile_gemm, kv_heads_are_held_whole)
{
    struct profile_gemm gemms[PROFILE_GEMMS];
    profile_gemms(&llama_8b, 16, gemms);
    cr_expect_eq(gemms[0].width, (2 + 2 * 1) * 128);
    cr_expect_eq(gemms[0].depth, 4096);
    cr_expect_eq(gemms[0].count, 32);
    cr_expect_eq(gemms[4].count, 1, "logits are no layer's");
}

Test(profile_gemm, gradients_are_the_same_work_turned)
{
    struct profile_gemm gemm = { "x", 300, 20, 1 };
    struct profile_product products[PROFILE_PASSES];
    profile_products(&gemm, 7, products);
    for (int i = 0; i < PROFILE_PASSES; i++)
        cr_expect_float_eq(profile_product_flops(&products[i]), 2.0 * 300 * 20 * 7, 1e-9);
    cr_expect(products[0].rows == 7 && products[0].columns == 300 && products[0].depth == 20);
    cr_expect(products[1].rows == 7 && products[1].columns == 20 && products[1].depth == 300);
    cr_expect(products[2].rows == 20 && products[2].columns == 300 && products[2].depth == 7);
}
