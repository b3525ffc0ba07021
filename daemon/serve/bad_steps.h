/*
 * Steps of which a share could not be gathered, because a token shard is bad. Every rank of such a
 * step is told, also those whose own share is good: the step cannot be trained on, and who does not
 * hear of it would wait for the others in a collective operation. A share that failed is gathered
 * anew whenever it is asked for; once that succeeds the step is well again.
 *
 * Bounded: the latest ones are known. Thread: the loop's. Owner: the server.
 */
#ifndef BALLAST_SERVE_BAD_STEPS_H
#define BALLAST_SERVE_BAD_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/payload_cache.h"

#define BAD_STEPS_KNOWN 64

/* A shard: a source, and a number of its shards. */
struct bad_shard {
    size_t source, number;
};

struct bad_step {
    struct payload_key key; /* the share that failed last because of the shard, ... */
    struct bad_shard shard; /* ... the first that was found bad */
    struct error error;
    bool known;
    bool again;   /* it failed because of that shard more than once: it is not a passing fault */
    bool refused; /* the ledger would not drop that shard */
    uint64_t not_before_ms; /* when the ledger may be tried again */
};

struct bad_steps {
    struct bad_step steps[BAD_STEPS_KNOWN];
    unsigned next;     /* to be used again */
    uint64_t failures; /* since the start */
    uint64_t found;    /* steps, since the start */
};

/* Is it the shard that is at fault, and not a shortage that may pass? */
bool bad_steps_counts(const struct error *error);

/* A share could not be gathered; true when that is news of the step. Another share that fails
 * because of another shard is counted, and no more, until this one is well. */
bool bad_steps_add(struct bad_steps *bad, struct payload_key key, struct bad_shard shard,
                   const struct error *error);

/* A share was gathered. */
void bad_steps_clear(struct bad_steps *bad, struct payload_key key);

/* Steps from `step` on are planned anew: nothing is known of them. */
void bad_steps_drop_from(struct bad_steps *bad, uint64_t step);

/* What is known against a step; NULL: nothing. */
struct bad_step *bad_steps_find(struct bad_steps *bad, uint64_t step);

/* Steps known to be bad now. */
unsigned bad_steps_count(const struct bad_steps *bad);

#endif
