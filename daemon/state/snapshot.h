/*
 * A snapshot: a struct planner_state as the bytes of a file (DESIGN section 3).
 *
 * Little-endian, version 2; every integer is 64 bits wide unless it says otherwise:
 *     8 bytes "BLSTSNAP" | version (32 bits) | flags (32 bits) | job digest (16 bytes)
 *     next step | digest of the step before (16 bytes) | dropped pieces | dropped tokens
 *     cursors | waiting pieces
 *     of each cursor the nine fields of struct source_cursor
 *     of each waiting piece struct waiting_piece as it lies (40 bytes)
 *     XXH3-128 of all that (16 bytes)
 * Pure: no I/O.
 */
#ifndef BALLAST_STATE_SNAPSHOT_H
#define BALLAST_STATE_SNAPSHOT_H

#include <stddef.h>

#include "base/digest.h"
#include "base/error.h"
#include "plan/plan.h"

#define SNAPSHOT_VERSION 2u
#define SNAPSHOT_MOST_BYTES ((size_t)256 << 20) /* larger ones are refused unread */

/* The bytes are the caller's to free; EX_OSERR when out of memory. */
int snapshot_encode(const struct planner_state *state, struct digest job, void **ret_bytes,
                    size_t *ret_count, struct error *err);

/*
 * Reads any bytes at all. EX_DATAERR says what is wrong with them; `state`, zero-initialised or
 * used before, then holds anything that planner_state_fini takes. Whether the state makes sense
 * for a corpus is for snapshot_fits to say.
 */
int snapshot_decode(const void *bytes, size_t count, struct planner_state *state,
                    struct digest *ret_job, struct error *err);

/*
 * Could a planner of this corpus, with pieces of at most `window` tokens, have been in this state?
 * EX_DATAERR names what does not fit: what then follows would be neither data nor an error.
 */
int snapshot_fits(const struct planner_state *state, const struct corpus *corpus, uint32_t window,
                  struct error *err);

#endif
