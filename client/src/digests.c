#include "digests.h"

#include <string.h>

bool digests_agree(struct digests *digests, const Ballast__V1__Batch *batch)
{
    struct step_digests *kept = &digests->kept[batch->step % DIGESTS_KEPT];
    if (kept->known && kept->step == batch->step)
        return memcmp(kept->digest, batch->digest.data, BALLAST_DIGEST_BYTES) == 0;
    *kept = (struct step_digests){ .known = true,
                                   .job_known = batch->job_digest.len == BALLAST_DIGEST_BYTES,
                                   .step = batch->step };
    memcpy(kept->digest, batch->digest.data, BALLAST_DIGEST_BYTES);
    if (kept->job_known)
        memcpy(kept->job_digest, batch->job_digest.data, BALLAST_DIGEST_BYTES);
    return true;
}

bool digests_know_job(const struct digests *digests, uint64_t step, const uint8_t *job_digest)
{
    for (size_t i = 0; i < DIGESTS_KEPT; i++) {
        const struct step_digests *kept = &digests->kept[i];
        if (kept->known && kept->job_known && kept->step <= step &&
            memcmp(kept->job_digest, job_digest, BALLAST_DIGEST_BYTES) == 0)
            return true;
    }
    return false;
}

const struct step_digests *digests_before(const struct digests *digests, uint64_t end)
{
    const struct step_digests *furthest = NULL;
    for (size_t i = 0; i < DIGESTS_KEPT; i++) {
        const struct step_digests *kept = &digests->kept[i];
        if (kept->known && kept->step < end && (!furthest || kept->step > furthest->step))
            furthest = kept;
    }
    return furthest;
}

void digests_forget(struct digests *digests, uint64_t step)
{
    for (size_t i = 0; i < DIGESTS_KEPT; i++)
        if (digests->kept[i].step >= step)
            digests->kept[i].known = false;
}
