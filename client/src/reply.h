/* The answer to GET_BATCH, checked as if an enemy had sent it. */
#ifndef BALLAST_CLIENT_REPLY_H
#define BALLAST_CLIENT_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "facts.h"
#include "frames.h"
#include "wire/frame.h"

/* What was asked for. */
struct question {
    uint64_t step;
    uint32_t microbatch; /* over all DP replicas */
    uint32_t cp_rank;
    uint32_t parts; /* Part values; all of them or none */
};

#define PARTS_ALL                                                                                  \
    ((uint32_t)(BALLAST__V1__PART__PART_PIECES | BALLAST__V1__PART__PART_CHUNKS |                  \
                BALLAST__V1__PART__PART_TOKENS))

/* The frames behind the header when all parts were asked for. */
enum { FRAME_HEADER, FRAME_PIECES, FRAME_CHUNKS, FRAME_TOKENS };

/* An answer that passed reply_check. Zeroed: none. */
struct reply {
    struct wire_message header; /* a Batch of status OK */
    struct frames frames;
};

static inline const Ballast__V1__Batch *reply_batch(const struct reply *reply)
{
    return reply->header.batch;
}

/*
 * Is this a whole and consistent answer to `question`? Returns NULL, or a static sentence that says
 * what is wrong. After NULL every index and every size in the tables can be trusted.
 */
const char *reply_check(const Ballast__V1__Batch *batch, const struct frames *frames,
                        const struct question *question, const struct facts *facts);

/* A zeroed struct is accepted, and left behind. */
void reply_close(struct reply *reply);

#endif
