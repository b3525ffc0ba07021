/* The digests of the steps seen last, to notice when two daemons plan one step differently. */
#ifndef BALLAST_CLIENT_DIGESTS_H
#define BALLAST_CLIENT_DIGESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ballast/ballast.h"

#define DIGESTS_KEPT 128u /* more steps than can be in flight */

struct digests {
    struct {
        bool known;
        uint64_t step;
        uint8_t digest[BALLAST_DIGEST_BYTES];
    } kept[DIGESTS_KEPT];
};

/* The digest of a step that is right for certain: every daemon is measured by it when it connects,
 * since the digest of a step stands for that of all before it. */
struct order {
    bool known;
    uint64_t step; /* ORDER_OF_JOB: before step 0, the digest of configuration and corpus */
    uint8_t digest[BALLAST_DIGEST_BYTES];
};

#define ORDER_OF_JOB UINT64_MAX

/* Remembers the digest of `step`; false when another one is remembered. */
bool digests_agree(struct digests *digests, uint64_t step, const uint8_t *digest);

#endif
