/*
 * The tokens of one CP rank's share of a micro-batch, as they go over the wire.
 *
 * Threads: written by the gather worker that makes it, immutable afterwards; reference and release
 * from any thread, ZeroMQ's I/O threads included. Owner: the last reference. Teardown: none of its
 * own.
 */
#ifndef BALLAST_SERVE_PAYLOAD_H
#define BALLAST_SERVE_PAYLOAD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "corpus/corpus.h"
#include "plan/plan.h"

struct payload {
    atomic_uint references;
    size_t bytes;
    uint64_t xxh3;
    unsigned char tokens[];
};

/* Size of the payload of (microbatch, rank): a token more than its length for every chunk. */
size_t payload_bytes(const struct step_plan *plan, uint32_t microbatch, uint32_t rank,
                     unsigned token_bytes);

/*
 * Copies the tokens out of the shards and computes the checksum. *ret_payload has one reference,
 * the caller's; it is untouched on failure. Errors of corpus_read, with step and micro-batch put
 * before; *ret_bad is then the piece that could not be read. Blocks on I/O; any thread.
 */
int payload_gather(const struct corpus *corpus, const struct step_plan *plan, uint32_t microbatch,
                   uint32_t rank, struct payload **ret_payload, struct piece *ret_bad,
                   struct error *err);

struct payload *payload_ref(struct payload *payload);

/* NULL is accepted. */
void payload_unref(struct payload *payload);

#endif
