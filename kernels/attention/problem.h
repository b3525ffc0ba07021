/* A problem from inside: layout, tiles, and where they lie in the workspace. */
#ifndef BALLAST_ATTENTION_PROBLEM_H
#define BALLAST_ATTENTION_PROBLEM_H

#include <stdbool.h>

#include <ballast/attention.h>

#include "kernels/attention/arguments.h"
#include "kernels/attention/error.h"
#include "kernels/tiles/tile_list.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WORKSPACE_ALIGNMENT = 256, TENSOR_ALIGNMENT = 16, STRIDE_MULTIPLE = 8 };

/* Kernels with tile counters of their own. */
enum attention_counter { COUNTER_FORWARD, COUNTER_BACKWARD_KEYS, COUNTER_BACKWARD_QUERIES };
#define ATTENTION_COUNTERS (COUNTER_BACKWARD_QUERIES + 1)

struct ballast_attention_problem {
    ballast_attention_layout layout; /* with its scale filled in */
    uint32_t padded_tokens;
    struct tile_list tiles;
    unsigned char *workspace; /* NULL before the upload */
};

/* Bytes from the start of the workspace; every part is aligned to WORKSPACE_ALIGNMENT. */
struct workspace_parts {
    size_t visible;     /* uint32_t [padded_tokens] */
    size_t query_tiles; /* struct query_tile [] */
    size_t key_tiles;   /* struct key_tile [] */
    size_t counters;    /* int [ATTENTION_COUNTERS][kv_heads]: a call has that of its first head */
    size_t facts;       /* struct row_facts [padded_tokens, heads] */
    size_t bytes;       /* in all */
};

struct workspace_parts workspace_parts_of(const ballast_attention_problem *problem);

/* The counter of a call that begins with that KV head. */
int *workspace_counter(const ballast_attention_problem *problem, enum attention_counter counter,
                       uint32_t first_kv_head);

#ifdef __cplusplus
}
#endif

#endif
