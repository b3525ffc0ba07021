/*
 * What a trainer rank has received, and how far it had come: a stream of all batches, byte for
 * byte, and a checkpoint behind every step. Whatever the moment of a kill -9, what is opened again
 * ends with a whole step. Helpers abort with a message when the system fails them.
 *
 * DIR/DP-CP.stream holds one record a batch: struct batch_record, then pieces, chunks, tokens,
 * labels and positions as they lie in memory. DIR/DP-CP.steps holds one struct checkpoint a step.
 */
#ifndef BALLAST_TESTS_RANK_LOG_H
#define BALLAST_TESTS_RANK_LOG_H

#include <ballast/ballast.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct batch_record {
    uint64_t step, step_tokens, step_loss_tokens, workload;
    uint32_t microbatch, piece_count, chunk_count, padded_tokens;
    uint32_t local_tokens, local_loss_tokens, microbatch_tokens, microbatch_loss_tokens;
    uint8_t digest[BALLAST_DIGEST_BYTES];
};

struct checkpoint {
    uint64_t step;         /* done */
    uint64_t stream_bytes; /* up to its end */
    uint8_t digest[BALLAST_DIGEST_BYTES];
    uint64_t check; /* over the fields before */
};

struct rank_log {
    FILE *stream;
    int steps;
    uint64_t stream_bytes; /* written in all */
    uint8_t digest[BALLAST_DIGEST_BYTES];
};

/* Opens or makes the files. True when there is a checkpoint to go on behind: *ret_last. */
bool rank_log_open(struct rank_log *log, const char *directory, uint32_t dp, uint32_t cp,
                   struct checkpoint *ret_last);
void rank_log_close(struct rank_log *log);

void rank_log_batch(struct rank_log *log, const ballast_view *view);

/* Every batch of `step` has been logged. */
void rank_log_step(struct rank_log *log, uint64_t step);

#endif
