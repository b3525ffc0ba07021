#include <cuda_runtime.h>

#include "kernels/attention/problem.h"

/* The place of a part of so many bytes, after those before. */
static size_t place(size_t *end, size_t count, size_t item_bytes)
{
    size_t offset = *end;
    size_t bytes = (count * item_bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT;
    *end += bytes * WORKSPACE_ALIGNMENT;
    return offset;
}

struct workspace_parts workspace_parts_of(const ballast_attention_problem *problem)
{
    const struct tile_list *tiles = &problem->tiles;
    const ballast_attention_layout *layout = &problem->layout;
    struct workspace_parts parts;
    size_t end = 0;
    parts.visible = place(&end, problem->padded_tokens, sizeof *tiles->visible);
    parts.query_tiles = place(&end, tiles->query_tile_count, sizeof *tiles->query_tiles);
    parts.key_tiles = place(&end, tiles->key_tile_count, sizeof *tiles->key_tiles);
    parts.counters = place(&end, (size_t)ATTENTION_COUNTERS * layout->kv_heads, sizeof(int));
    parts.facts =
        place(&end, (size_t)layout->heads * problem->padded_tokens, sizeof(struct row_facts));
    parts.bytes = end;
    return parts;
}

int *workspace_counter(const ballast_attention_problem *problem, enum attention_counter counter,
                       uint32_t first_kv_head)
{
    int *counters = (int *)(void *)(problem->workspace + workspace_parts_of(problem).counters);
    return counters + (size_t)counter * problem->layout.kv_heads + first_kv_head;
}

size_t ballast_attention_workspace_bytes(const ballast_attention_problem *problem)
{
    return workspace_parts_of(problem).bytes;
}

static cudaError_t copy_part(unsigned char *workspace, size_t offset, const void *from,
                             size_t bytes, cudaStream_t stream)
{
    if (bytes == 0)
        return cudaSuccess;
    return cudaMemcpyAsync(workspace + offset, from, bytes, cudaMemcpyHostToDevice, stream);
}

static cudaError_t copy_tiles(const ballast_attention_problem *problem, unsigned char *workspace,
                              cudaStream_t stream)
{
    const struct tile_list *tiles = &problem->tiles;
    const struct workspace_parts parts = workspace_parts_of(problem);
    cudaError_t failed = copy_part(workspace, parts.visible, tiles->visible,
                                   problem->padded_tokens * sizeof *tiles->visible, stream);
    if (failed == cudaSuccess)
        failed = copy_part(workspace, parts.query_tiles, tiles->query_tiles,
                           tiles->query_tile_count * sizeof *tiles->query_tiles, stream);
    if (failed == cudaSuccess)
        failed = copy_part(workspace, parts.key_tiles, tiles->key_tiles,
                           tiles->key_tile_count * sizeof *tiles->key_tiles, stream);
    return failed;
}

ballast_attention_status ballast_attention_upload(ballast_attention_problem *problem,
                                                  void *workspace, size_t workspace_bytes,
                                                  ballast_attention_stream stream,
                                                  ballast_attention_error *error)
{
    size_t needed = ballast_attention_workspace_bytes(problem);
    if (!workspace || (uintptr_t)workspace % WORKSPACE_ALIGNMENT != 0 || workspace_bytes < needed)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "workspace %p of %zu bytes: expected %zu, aligned to %d", workspace,
                               workspace_bytes, needed, WORKSPACE_ALIGNMENT);
    cudaError_t failed = copy_tiles(problem, workspace, stream);
    if (failed != cudaSuccess)
        return attention_error(error, BALLAST_ATTENTION_DEVICE, "copy of the tiles: %s",
                               cudaGetErrorString(failed));
    problem->workspace = workspace;
    return BALLAST_ATTENTION_OK;
}
