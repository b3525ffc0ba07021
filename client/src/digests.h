/*
 * What batches said of the steps seen last: their digests, to notice when two daemons plan one step
 * differently, and the job's, to notice when its ledger has changed (change.h).
 */
#ifndef BALLAST_CLIENT_DIGESTS_H
#define BALLAST_CLIENT_DIGESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ballast/ballast.h"
#include "wire/frame.h"

#define DIGESTS_KEPT 128u /* more steps than can be in flight */

struct step_digests {
    bool known, job_known;
    uint64_t step;
    uint8_t digest[BALLAST_DIGEST_BYTES];
    uint8_t job_digest[BALLAST_DIGEST_BYTES];
};

struct digests {
    struct step_digests kept[DIGESTS_KEPT];
};

/* The digest of a step that is right for certain: every daemon is measured by it when it connects,
 * since the digest of a step stands for that of all before it. */
struct order {
    bool known;
    uint64_t step; /* ORDER_OF_JOB: before step 0, the digest of configuration and corpus */
    uint8_t digest[BALLAST_DIGEST_BYTES];
};

#define ORDER_OF_JOB UINT64_MAX

/* Remembers what a batch of status OK says; false when another digest of its step is remembered. */
bool digests_agree(struct digests *digests, const Ballast__V1__Batch *batch);

/* Is this remembered as the job digest of `step` or of one before? */
bool digests_know_job(const struct digests *digests, uint64_t step, const uint8_t *job_digest);

/* The furthest step before `end` that is remembered; NULL where there is none. */
const struct step_digests *digests_before(const struct digests *digests, uint64_t end);

/* Forgets `step` and all behind it. */
void digests_forget(struct digests *digests, uint64_t step);

#endif
