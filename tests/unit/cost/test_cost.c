#include <criterion/criterion.h>
#include <string.h>

#include "cost/cost.h"

static struct cost_model model_of(struct cost_options options)
{
    struct cost_model model;
    struct error err = { 0 };
    cr_assert_eq(cost_model_init(&model, &options, &err), 0, "%s", err.text);
    return model;
}

Test(cost, crossover_is_d_plus_d_squared_over_b)
{
    struct cost_model model = model_of((struct cost_options){ .crossover_tokens = 24576 });
    cr_assert_eq(cost_linear(&model, 1), 1024);
    cr_assert_eq(cost_piece(&model, 24576), 2 * 24576 * UINT64_C(1024));
    /* 131072 + 131072^2 / 24576 tokens' worth, to the rounding of the fixed point */
    double expected = (131072.0 + 131072.0 * 131072.0 / 24576.0) * 1024.0;
    cr_assert_float_eq((double)cost_piece(&model, 131072), expected, expected * 1e-8);
    cr_assert_str_eq(model.unit, "token/1024");
}

Test(cost, grows_faster_than_length)
{
    struct cost_model model = model_of((struct cost_options){ .crossover_tokens = 64000 });
    for (uint32_t d = 1; d < 200000; d += 997)
        cr_assert_gt(cost_piece(&model, 2 * d), 2 * cost_piece(&model, d) - 2);
}

/* Llama-2-7B-like on TP 8 at 400 TFLOP/s: 6 FLOPs a parameter and token give the linear part. */
Test(cost, model_follows_parameter_count)
{
    struct cost_shape shape = { .layers = 32,
                                .hidden = 4096,
                                .heads = 32,
                                .kv_heads = 32,
                                .ffn = 11008,
                                .vocab = 32000,
                                .tp = 8,
                                .tflops = 400 };
    struct cost_model model = model_of((struct cost_options){ .model = shape });
    double parameters = 32 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008) + 4096.0 * 32000;
    double ps = 6 * parameters / (8 * 400);
    cr_assert_float_eq((double)model.linear, ps, 1.0);
    cr_assert_float_eq(model.crossover_tokens, ps / (3.5 * 32 * 2 * 4096 / (8 * 400.0)), 1.0);
    cr_assert_str_eq(model.unit, "ps");
}

Test(cost, fewer_kv_heads_cost_less)
{
    struct cost_shape shape = { .layers = 32,
                                .hidden = 4096,
                                .heads = 32,
                                .kv_heads = 32,
                                .ffn = 11008,
                                .vocab = 32000,
                                .tp = 1,
                                .tflops = 400 };
    struct cost_model mha = model_of((struct cost_options){ .model = shape });
    shape.kv_heads = 8;
    struct cost_model gqa = model_of((struct cost_options){ .model = shape });
    cr_assert_lt(gqa.linear, mha.linear);
    cr_assert_eq(gqa.quadratic, mha.quadratic);
}

static void refused(struct cost_options options, const char *part)
{
    struct cost_model model;
    struct error err = { 0 };
    cr_assert_eq(cost_model_init(&model, &options, &err), EX_CONFIG);
    cr_assert(strstr(err.text, part), "%s", err.text);
}

Test(cost, options_out_of_range_are_refused)
{
    struct cost_shape shape = { .layers = 32,
                                .hidden = 4096,
                                .heads = 32,
                                .kv_heads = 32,
                                .ffn = 11008,
                                .vocab = 32000,
                                .tp = 8,
                                .tflops = 400 };
    refused((struct cost_options){ 0 }, "found none");
    refused((struct cost_options){ .crossover_tokens = 1, .model = shape }, "found several");
    refused((struct cost_options){ .crossover_tokens = UINT64_MAX }, "crossover_tokens");
    shape.tflops = 1e-12;
    refused((struct cost_options){ .model = shape }, "no machine");
    shape.tflops = 0;
    refused((struct cost_options){ .model = shape }, "tflops");
}

Test(cost, fits_says_when_sums_stay_exact)
{
    struct cost_model model = model_of((struct cost_options){ .crossover_tokens = 1 });
    cr_assert(cost_fits(&model, 131072, 262144));
    cr_assert(!cost_fits(&model, UINT32_MAX, UINT32_MAX));
}
