#include "kernels/example/microbatch.h"

#include <stdio.h>
#include <stdlib.h>

/* `labels` are those of the whole step: what a summed loss is divided by on every rank. */
static bool compute(const struct layer *layer, struct attention *attention, struct rows *rows,
                    uint64_t labels, struct result *result)
{
    double scale = labels > 0 ? 1 / (double)labels : 0;
    layer_project(layer, rows);
    if (!attention_forward(attention, rows))
        return false;
    layer_loss(layer, rows, scale, &result->loss, &result->gradients);
    if (!attention_backward(attention, rows))
        return false;
    layer_backward(rows, &result->gradients);
    return true;
}

static bool run(const struct layer *layer, ballast_attention_cp *cp, const ballast_view *view,
                struct rows *rows, struct result *result)
{
    struct attention attention;
    bool good = attention_init(&attention, cp, view) &&
                compute(layer, &attention, rows, view->step_loss_tokens, result);
    if (!good)
        fprintf(stderr, "train_layer: rank %u: %s\n", view->cp_rank, attention.error.text);
    attention_fini(&attention);
    return good;
}

bool microbatch_share(const struct layer *layer, ballast_attention_cp *cp, const ballast_view *view,
                      struct result *result)
{
    struct rows rows;
    bool good = rows_init(&rows, view->tokens, view->labels, view->padded_tokens) &&
                run(layer, cp, view, &rows, result);
    rows_fini(&rows);
    return good;
}

/* A rank's tokens and labels to where they stand in the sequence. */
static void put_in_order(const ballast_view *share, int32_t *tokens, int32_t *labels)
{
    uint32_t row = 0;
    for (uint32_t i = share->rank_chunks[share->cp_rank];
         i < share->rank_chunks[share->cp_rank + 1]; i++) {
        const ballast_chunk *chunk = &share->chunks[i];
        uint32_t to = share->cu_seqlens[chunk->piece] + chunk->start;
        for (uint32_t j = 0; j < chunk->length; j++, row++) {
            tokens[to + j] = share->tokens[row];
            labels[to + j] = share->labels[row];
        }
    }
}

bool microbatch_whole(const struct layer *layer, ballast_batch *const *shares,
                      struct result *result)
{
    const ballast_view *first = ballast_batch_view(shares[0]);
    int32_t *tokens = calloc(first->microbatch_tokens, sizeof *tokens);
    int32_t *labels = calloc(first->microbatch_tokens, sizeof *labels);
    bool good = tokens && labels;
    for (uint32_t rank = 0; good && rank < first->cp; rank++)
        put_in_order(ballast_batch_view(shares[rank]), tokens, labels);
    struct rows rows = { 0 };
    good = good && rows_init(&rows, tokens, labels, first->microbatch_tokens) &&
           run(layer, NULL, first, &rows, result);
    rows_fini(&rows);
    free(tokens);
    free(labels);
    return good;
}
