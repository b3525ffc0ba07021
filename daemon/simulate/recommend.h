/*
 * Which packing policy, longest micro-batch and sharding to use for a corpus and a parallel layout:
 * many settings tried over the same sample of the stream, and one chosen by a rule that can be
 * told. Pure and deterministic; the sample is sized so that all trials together take seconds.
 */
#ifndef BALLAST_SIMULATE_RECOMMEND_H
#define BALLAST_SIMULATE_RECOMMEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "corpus/corpus.h"
#include "simulate/settings.h"

/* What one setting amounted to. */
struct trial {
    struct setting setting;
    double gain;    /* equal-work speed-up over plain with per-sequence, on the same sample */
    double speedup; /* in tokens */
    double imbalance, makespan_ratio, delay, busiest_over_ideal;
    uint64_t delay_max; /* steps */
    uint32_t longest;   /* tokens */
};

struct recommendation {
    uint64_t steps;       /* of the sample, counted */
    struct trial plain;   /* with per-sequence: what the others are compared with */
    struct trial *trials; /* packings, all with the same sharding; then shardings of the best */
    size_t count, capacity;
    size_t packings; /* how many of them are packings */
    size_t packing;  /* the best of those */
    size_t best;     /* of all: the same packing, with the best sharding */
};

/* Called before every trial; `done` of `total`. */
typedef void recommend_progress(void *context, size_t done, size_t total);

/*
 * Tries what `config` permits: micro-batches up to its max_sequence_length. `progress` may be NULL.
 * Errors as simulate_run. On success the caller owns *ret until recommendation_fini.
 */
int recommend(const struct config *config, const struct corpus *corpus,
              recommend_progress *progress, void *context, struct recommendation *ret,
              struct error *err);
void recommendation_fini(struct recommendation *recommendation);

/* Two or three sentences: what is chosen and what speaks for it. The caller frees *ret_text. */
int recommendation_why(const struct recommendation *recommendation, const struct config *config,
                       char **ret_text, struct error *err);

/*
 * The choice as a fragment of a configuration, to be merged key by key. The caller frees *ret_text.
 */
int recommendation_yaml(const struct recommendation *recommendation, char **ret_text,
                        struct error *err);

#endif
