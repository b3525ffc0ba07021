#include "kernels/attention/call.h"

static const double log2_e = 1.4426950408889634;

ballast_attention_status call_begin(const ballast_attention_problem *problem,
                                    ballast_attention_heads kv_heads,
                                    struct attention_arguments *ret_arguments,
                                    ballast_attention_error *error)
{
    const ballast_attention_layout *layout = &problem->layout;
    if (!problem->workspace)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "the problem has no workspace: ballast_attention_upload first");
    if (kv_heads.first >= layout->kv_heads || kv_heads.count > layout->kv_heads - kv_heads.first)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "KV heads from %u, %u of them: the layout has %u", kv_heads.first,
                               kv_heads.count, layout->kv_heads);
    const struct workspace_parts parts = workspace_parts_of(problem);
    const unsigned char *workspace = problem->workspace;
    uint32_t count = kv_heads.count ? kv_heads.count : layout->kv_heads - kv_heads.first;
    *ret_arguments = (struct attention_arguments){
        .query_tiles = (const void *)(workspace + parts.query_tiles),
        .key_tiles = (const void *)(workspace + parts.key_tiles),
        .visible = (const void *)(workspace + parts.visible),
        .facts = (void *)(problem->workspace + parts.facts),
        .kv_heads = (int)count,
        .first_kv_head = (int)kv_heads.first,
        .group = (int)(layout->heads / layout->kv_heads),
        .heads = (int)layout->heads,
        .rows = (int)problem->tiles.rows,
        .padded_rows = (int)problem->padded_tokens,
        .key_rows = (int)problem->tiles.key_rows,
        .scale = layout->scale,
        .scale_log2 = (float)(layout->scale * log2_e),
    };
    return BALLAST_ATTENTION_OK;
}

static const char *type_name(ballast_attention_type type)
{
    static const char *const names[] = { "BF16", "F16", "F32" };
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "of no type";
}

ballast_attention_status call_check_tensor(const ballast_attention_problem *problem,
                                           const struct attention_arguments *arguments,
                                           const struct call_tensor *tensor, int64_t *ret_stride,
                                           ballast_attention_error *error)
{
    const ballast_attention_layout *layout = &problem->layout;
    uint32_t heads = tensor->of_keys ? (uint32_t)arguments->kv_heads : layout->heads;
    int64_t row = (int64_t)heads * layout->head_dim;
    int64_t stride = tensor->stride ? tensor->stride : row;
    uint32_t rows = tensor->of_keys ? problem->tiles.key_rows : problem->padded_tokens;
    if (rows > 0 && (!tensor->pointer || (uintptr_t)tensor->pointer % TENSOR_ALIGNMENT != 0))
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "%s is %p: expected device memory aligned to %d bytes", tensor->name,
                               tensor->pointer, TENSOR_ALIGNMENT);
    if (stride < row || stride % STRIDE_MULTIPLE != 0)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "%s has rows %lld elements apart: expected a multiple of %d, at "
                               "least %lld",
                               tensor->name, (long long)stride, STRIDE_MULTIPLE, (long long)row);
    if (tensor->type != layout->type && tensor->type != BALLAST_ATTENTION_F32)
        return attention_error(error, BALLAST_ATTENTION_UNSUPPORTED, "%s is %s: expected %s or F32",
                               tensor->name, type_name(tensor->type), type_name(layout->type));
    *ret_stride = stride;
    return BALLAST_ATTENTION_OK;
}
