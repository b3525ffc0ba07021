/* Forward and backward of the layer over one micro-batch. */
#ifndef BALLAST_EXAMPLE_MICROBATCH_H
#define BALLAST_EXAMPLE_MICROBATCH_H

#include "kernels/example/attention.h"

struct result {
    double loss; /* this part of the step's */
    struct layer gradients;
};

/* Of one rank's share: adds to `result`. False, and a line on standard error, when it failed. */
bool microbatch_share(const struct layer *layer, ballast_attention_cp *cp, const ballast_view *view,
                      struct result *result);

/* Of the whole, put together from the shares of all its ranks. */
bool microbatch_whole(const struct layer *layer, ballast_batch *const *shares,
                      struct result *result);

#endif
