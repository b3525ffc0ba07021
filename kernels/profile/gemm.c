#include "kernels/profile/gemm.h"

/* A rank's share; what does not divide is held whole by more ranks, as KV heads are. */
static uint32_t share(uint64_t whole, uint32_t tp)
{
    return (uint32_t)((whole + tp - 1) / tp);
}

void profile_gemms(const struct profile_model *model, uint32_t tp,
                   struct profile_gemm ret_gemms[PROFILE_GEMMS])
{
    uint32_t heads = share(model->heads, tp), kv_heads = share(model->kv_heads, tp);
    uint32_t ffn = share(model->ffn, tp);
    const struct profile_gemm gemms[PROFILE_GEMMS] = {
        { "qkv", (heads + 2 * kv_heads) * model->head_dim, model->hidden, model->layers },
        { "projection", model->hidden, heads * model->head_dim, model->layers },
        { "up", 2 * ffn, model->hidden, model->layers },
        { "down", model->hidden, ffn, model->layers },
        { "logits", share(model->vocab, tp), model->hidden, 1 },
    };
    for (int i = 0; i < PROFILE_GEMMS; i++)
        ret_gemms[i] = gemms[i];
}

void profile_products(const struct profile_gemm *gemm, uint64_t tokens,
                      struct profile_product ret_products[PROFILE_PASSES])
{
    ret_products[0] = (struct profile_product){ tokens, gemm->width, gemm->depth };
    ret_products[1] = (struct profile_product){ tokens, gemm->depth, gemm->width };
    ret_products[2] = (struct profile_product){ gemm->depth, gemm->width, tokens };
}

double profile_product_flops(const struct profile_product *product)
{
    return 2.0 * (double)product->rows * (double)product->columns * (double)product->depth;
}

double profile_linear_flops(const struct profile_model *model, uint32_t tp, uint64_t tokens,
                            bool training)
{
    struct profile_gemm gemms[PROFILE_GEMMS];
    profile_gemms(model, tp, gemms);
    double flops = 0;
    for (int i = 0; i < PROFILE_GEMMS; i++) {
        struct profile_product products[PROFILE_PASSES];
        profile_products(&gemms[i], tokens, products);
        flops += gemms[i].count * profile_product_flops(&products[0]);
    }
    return training ? PROFILE_PASSES * flops : flops;
}
