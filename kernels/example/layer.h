/*
 * The model of the example: one attention layer, its projections in float on the host.
 *
 *     x = embedding of the token         [rows, HIDDEN], fixed numbers made from the token's id
 *     q, k, v = x times a matrix each    bf16, as the kernels take them
 *     out = attention(q, k, v)           not here
 *     y = out times a matrix             [rows, HIDDEN]
 *     loss = |y - x of the label|^2 / 2  of rows that have a label, over the step's labels
 */
#ifndef BALLAST_EXAMPLE_LAYER_H
#define BALLAST_EXAMPLE_LAYER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HIDDEN = 32,
    HEADS = 4,
    KV_HEADS = 2,
    HEAD_DIM = 64,
    QUERY_WIDTH = HEADS * HEAD_DIM,
    KEY_WIDTH = KV_HEADS * HEAD_DIM
};

/* The matrices, or their gradients. */
struct layer {
    float q[HIDDEN][QUERY_WIDTH], k[HIDDEN][KEY_WIDTH], v[HIDDEN][KEY_WIDTH];
    float out[QUERY_WIDTH][HIDDEN];
};

/* Rows of a sequence, with what attention takes and gives, as bits of bf16. */
struct rows {
    uint32_t count;
    const int32_t *tokens, *labels;                /* BALLAST_IGNORE_LABEL: none. The caller's */
    uint16_t *q, *out, *q_gradient, *out_gradient; /* [count][QUERY_WIDTH] */
    uint16_t *k, *v, *k_gradient, *v_gradient;     /* [count][KEY_WIDTH] */
};

/* False when out of memory; rows_fini is right either way. */
bool rows_init(struct rows *rows, const int32_t *tokens, const int32_t *labels, uint32_t count);
void rows_fini(struct rows *rows);

/* Weights to start from, the same everywhere. */
void layer_init(struct layer *layer);

/* q, k and v of the rows. */
void layer_project(const struct layer *layer, struct rows *rows);

/*
 * From `out`: adds to the loss and to the gradient of layer->out, and makes out_gradient. `scale`
 * is 1 over the labels of the whole step, on all ranks.
 */
void layer_loss(const struct layer *layer, struct rows *rows, double scale, double *loss,
                struct layer *gradients);

/* From the gradients of q, k and v: adds to those of their matrices. */
void layer_backward(const struct rows *rows, struct layer *gradients);

/* to += factor x from. */
void layer_add(struct layer *to, float factor, const struct layer *from);

/* The largest relative difference of any matrix, in the norm. */
double layer_difference(const struct layer *one, const struct layer *other);

#endif
