/*
 * Which outliers to let go now: the heart of `adaptive`.
 *
 * A step in which the longest released piece has workload W cannot finish before W, so W is the
 * level that every micro-batch should reach: with other outliers below it, then with the step's
 * small pieces, poured in like water as far as tokens permit. What stays below the level is waste.
 * For each length in the pool as the longest (and for none), a choice is: every outlier from there
 * on, longest first, that still fits under the level; or, where they stand higher than the longest
 * of them alone, as many equal ones do, all of them, as far as tokens permit. A choice is worth the
 * waiting that it ends, less the price of its waste.
 *
 * Where tokens are short, the last of the liquid rises in a few bins alone, far above those that
 * are full of tokens. It then waits for the next step: to leave a token's work out costs a
 * token-step in each bin that still rises, and saves its price in each that does not.
 *
 * That is for steps as long as their largest micro-batch. For pipelines (shape->replicas), replicas
 * take the place of micro-batches: their sums should be level, and what the largest micro-batch is
 * longer than a replica's mean counts for every stage but one.
 *
 * All in integers: values and costs are token-steps in 1024ths (a token that waits one step).
 * One thread at a time for one struct release. Pure.
 */
#ifndef BALLAST_PACK_RELEASE_H
#define BALLAST_PACK_RELEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "pack/least.h"
#include "pack/pack.h"

#define RELEASE_UNIT 1024    /* of values and costs, in a token-step */
#define RELEASE_BALANCE 1000 /* of `balance`, in 1 */

/* A step should hold a quarter of a global batch, whatever that costs: optimizer steps are dear. */
#define RELEASE_LEAST 4

/* An outlier as the choice sees it. Pools are sorted longest first. */
struct outlier {
    workload work;
    uint32_t length;
    uint32_t arrived; /* step, modulo 2^32: ages are differences */
};

/* The pieces of a step that do not wait, as one liquid. */
struct liquid {
    workload work;
    uint64_t tokens;
};

struct choice {
    size_t first;       /* index of the longest released one; the pool's count: none */
    workload level;     /* what a micro-batch may hold of outliers */
    struct liquid left; /* what of the liquid waits */
    int64_t cost;       /* of waste, and of liquid that waits */
    int64_t value;      /* waiting that ends, less the cost */
    uint64_t tokens;    /* of the step, as far as it is no proper one: up to RELEASE_LEAST of it */
};

/* Is a to be preferred? A fuller step up to the least; then the higher value. */
bool choice_better(const struct choice *a, const struct choice *b);

struct release {
    struct pack_shape shape;
    uint64_t price;      /* of a wasted token's linear work, in 1024ths of a token-step */
    uint32_t bins, size; /* what is to be level: micro-batches, or replicas of `size` of them */
    uint32_t idle;       /* bins that may stay below the others before small pieces had better wait;
                            all of them: never */
    uint64_t bin_tokens; /* most tokens of a bin */
    struct least work;   /* of each bin, outliers only */
    uint64_t *tokens;    /* of each bin */
    struct choice *choices;
    size_t choice_count, choice_capacity;

    /* Outliers that go whatever is chosen, longest first; not in the pool. The caller's. */
    const struct outlier *forced;
    size_t forced_count;
};

/* `balance` from 0 to RELEASE_BALANCE: how dear waste is against delay. EX_OSERR. */
int release_init(struct release *release, const struct pack_shape *shape, uint32_t balance,
                 struct error *err);
void release_fini(struct release *release);

/*
 * Fills release->choices with all choices worth looking at in `step`, and returns the best one's
 * index in *ret_best; there is always at least one. EX_OSERR when out of memory.
 */
int release_consider(struct release *release, const struct outlier *pool, size_t count,
                     struct liquid liquid, uint32_t step, size_t *ret_best, struct error *err);

/* Marks in `take` which of the pool a choice releases. */
void release_take(struct release *release, const struct outlier *pool, size_t count,
                  const struct choice *choice, bool *take);

#endif
