/*
 * What a kernel is told: one struct for all of them, by value. Pointers are device memory.
 *
 * An item of work is a tile and a KV head of the call: item i is tile i / kv_heads, head
 * i % kv_heads, so that the longest tiles of all heads come first.
 */
#ifndef BALLAST_ATTENTION_ARGUMENTS_H
#define BALLAST_ATTENTION_ARGUMENTS_H

#include <stdint.h>

#include "kernels/tiles/tile_list.h"

/* What backward needs of a query row and head, side by side, 16 bytes. */
struct __attribute__((aligned(16))) row_facts {
    uint32_t visible; /* 0 where there is no such row */
    float lse_log2;   /* lse, but of base 2 */
    float delta;      /* sum over the vector of out x out_gradient */
    float zero;
};

struct attention_arguments {
    /* From the workspace. */
    const struct query_tile *query_tiles;
    const struct key_tile *key_tiles;
    const uint32_t *visible; /* [padded_rows] */
    struct row_facts *facts; /* [padded_rows, heads], by attention_find_row_facts */
    int *counter;            /* of the kernel that is launched; 0 before it starts */

    /* From the call; [rows, heads, head_dim] from head 0, keys from the call's first KV head. */
    const void *q, *k, *v, *out, *out_gradient;
    void *result, *k_gradient, *v_gradient; /* result: out of forward, q_gradient of backward */
    float *lse;
    int64_t q_stride, k_stride, v_stride, out_stride, out_gradient_stride; /* elements */
    int64_t result_stride, k_gradient_stride, v_gradient_stride;
    int out_float, result_float, kv_gradient_float; /* 1: float, 0: as q */

    int items;
    int kv_heads;      /* of the call */
    int first_kv_head; /* of the query tensors' */
    int group;         /* query heads of a KV head */
    int heads;         /* query heads of the tensors */
    int rows;          /* query rows without padding */
    int padded_rows;
    int key_rows;
    float scale;      /* of q.k */
    float scale_log2; /* scale x log2(e) */
};

/* Shapes of tiles, for the host that lists them and for the kernels. */
enum {
    QUERY_TILE_ROWS = 128, /* tokens x query heads of a KV head */
    QUERY_TILE_COLUMNS = 64,
    KEY_TILE_KEYS = 128,
    KEY_TILE_ROWS = 64 /* query rows are taken so many at a time */
};

#endif
