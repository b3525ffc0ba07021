/*
 * Kernels that move, add and convert rows of tensors. All enqueue and return; memory is the
 * device's, aligned to 16 bytes, as are strides and row sizes.
 */
#ifndef BALLAST_KERNELS_CP_ROWS_H
#define BALLAST_KERNELS_CP_ROWS_H

#include <ballast/attention.h>
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In a list of rows: no row, zeros instead. */
#define ROWS_NONE UINT32_MAX

/* Row i of `to` becomes row which[i] of `from`, or row i where `which` is NULL. */
struct row_move {
    const void *from;
    void *to;
    const uint32_t *which; /* [count] */
    uint32_t count;        /* rows of `to` */
    size_t row_bytes;
    size_t from_stride, to_stride; /* bytes */
};

cudaError_t rows_move(const struct row_move *move, cudaStream_t stream);

/* Float rows of `width` values, rounded to `type`; strides in values. */
struct row_convert {
    const float *from;
    void *to;
    ballast_attention_type type;
    uint32_t count, width;
    size_t from_stride, to_stride;
};

cudaError_t rows_convert(const struct row_convert *convert, cudaStream_t stream);

/* to[i] += from[i], for `count` values, a multiple of 4. */
cudaError_t rows_add(float *to, const float *from, size_t count, cudaStream_t stream);

/*
 * Attention over two sets of keys from attention over each: out and lse of the set `part` are
 * merged into `to`'s. out [rows, heads, head_dim], lse [heads, rows].
 */
struct row_merge {
    float *out;
    float *lse;
    const float *part_out;
    const float *part_lse;
    uint32_t rows, heads, head_dim;
};

cudaError_t rows_merge(const struct row_merge *merge, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
