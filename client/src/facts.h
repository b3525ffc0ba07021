/* What HELLO told about the job. Fixed by the first daemon that is accepted; others must agree. */
#ifndef BALLAST_CLIENT_FACTS_H
#define BALLAST_CLIENT_FACTS_H

#include <stdbool.h>

#include "ballast/ballast.h"
#include "wire/frame.h"

/* No frame of a reply is larger, whatever a daemon says of its job. */
#define FACTS_MAX_FRAME_BYTES (INT64_C(256) << 20)

#define FACTS_CHANGES_BYTES 256 /* as much as fits an error text */

struct facts {
    ballast_job job;
    uint32_t token_bytes;    /* of a token on the wire, 2 or 4 */
    uint32_t source_count;   /* 0: not told */
    uint32_t ledger_entries; /* how many changes the daemon knows of, at any step */
    uint8_t ledger_digest[BALLAST_DIGEST_BYTES]; /* zeros without any */
    char changes[FACTS_CHANGES_BYTES]; /* since the job that the daemon served before; empty: none
                                          known */
};

/* Copies a reply of status OK, which wire_decode has validated. */
struct facts facts_from(const Ballast__V1__HelloReply *reply);

/* Do two daemons know of the same changes of the job? */
bool facts_same_ledger(const struct facts *a, const struct facts *b);

/* Do two daemons of the same digest say the same of the job's shape? */
bool facts_agree(const struct facts *a, const struct facts *b);

/* The largest frame that this job can send: the piece table when every piece is one token. */
int64_t facts_max_frame_bytes(const struct facts *facts);

#endif
