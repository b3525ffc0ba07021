/*
 * `outlier_thresholds: auto`: tuned as the paper does it, by running `wlb` over a sample of the
 * corpus and taking the thresholds that balance best at a low delay.
 *
 * The sample is the first pieces of the job's own stream, so the choice follows from configuration
 * and corpus, like everything else. What is compared are integers.
 *
 * The rule: least score = (makespan ratio - 1) + delay / AUTO_THRESHOLDS_DELAY, the delay in steps
 * a token. So a step of delay is taken to cost a tenth of a step's time. PAPER.md gives the
 * exchange rate: packing 8 global batches together delays a token by 3.5 steps on average and
 * raises the loss by 1.6 %, which at the usual power of loss over compute, 0.05, takes a third more
 * compute to make good: about a tenth for each step.
 */
#ifndef BALLAST_PLAN_AUTO_THRESHOLDS_H
#define BALLAST_PLAN_AUTO_THRESHOLDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "corpus/corpus.h"
#include "pack/pack.h"
#include "stream/stream.h"

#define AUTO_THRESHOLDS_LEVELS 3 /* most thresholds of a choice */
#define AUTO_THRESHOLDS_DELAY 10 /* steps of delay that weigh as much as a whole step's time */

/* One setting and what it gave; figures in millionths. */
struct threshold_trial {
    uint64_t thresholds[AUTO_THRESHOLDS_LEVELS];
    unsigned count;
    uint64_t excess; /* makespan ratio - 1 */
    uint64_t delay;  /* steps, token-weighted mean, over what waits at the end too */
    uint64_t score;  /* less is better */
};

struct auto_thresholds {
    struct threshold_trial *trials; /* best first */
    size_t trial_count, trial_capacity;
    uint64_t steps, pieces; /* of the sample; the first steps, while queues fill, do not count */
};

/*
 * Tries and sorts. `options` says everything but the thresholds. There is always a first trial, and
 * its thresholds are valid for any corpus: without any that help it is one that no piece reaches.
 * Takes about a second. EX_OSERR, or errors of stream_new. On success *ret_choice is the caller's
 * until auto_thresholds_free.
 */
int auto_thresholds_choose(const struct corpus *corpus, const struct stream_options *stream,
                           const struct pack_shape *shape, const struct pack_options *options,
                           struct auto_thresholds **ret_choice, struct error *err);

/* The same over a given sample of pieces, in stream order. */
int auto_thresholds_try(const struct piece *pieces, size_t count, const struct pack_shape *shape,
                        const struct pack_options *options, struct auto_thresholds **ret_choice,
                        struct error *err);

void auto_thresholds_free(struct auto_thresholds *choice);

/* "[32768, 81920]", or "none" when no piece reaches the threshold. Returns `text`. */
const char *threshold_trial_text(const struct threshold_trial *trial, uint32_t window, char *text,
                                 size_t bytes);

#endif
