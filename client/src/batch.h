/* A batch: one allocation that holds the view and every array it points to. */
#ifndef BALLAST_CLIENT_BATCH_H
#define BALLAST_CLIENT_BATCH_H

#include "ballast/ballast.h"
#include "facts.h"
#include "reply.h"

/*
 * Builds the batch of a reply that passed reply_check; the reply stays the caller's. Returns
 * BALLAST_OK; BALLAST_NO_MEMORY; or BALLAST_INVALID when the allocator's memory is not aligned to
 * 64 bytes.
 */
ballast_status batch_new(const ballast_allocator *allocator, const struct facts *facts,
                         const struct reply *reply, ballast_batch **ret_batch);

#endif
