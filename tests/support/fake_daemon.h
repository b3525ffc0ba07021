/*
 * A daemon of a made-up job, on a thread of its own in the test's process: serves the right answers
 * and, where told, wrong ones. It speaks through proto/wire only, so it agrees with a client for no
 * other reason than the protocol.
 *
 * Every micro-batch has the same pieces; tokens differ (fake_token). CP shards are per document.
 * Threads: the one that starts a daemon may call everything; fake_behave takes effect for requests
 * that the daemon takes up afterwards.
 */
#ifndef BALLAST_SUPPORT_FAKE_DAEMON_H
#define BALLAST_SUPPORT_FAKE_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_MAX_PIECES 16
#define FAKE_MAX_ENTRIES 4

struct fake_job {
    const char *name;
    uint32_t dp, cp, microbatches;
    uint32_t vocab_size;
    uint32_t lengths[FAKE_MAX_PIECES]; /* of the pieces */
    uint32_t piece_count;
    uint32_t continued; /* this piece, counted from 1, does not end its document; 0: all end */
    uint32_t pad_to_multiple;
    uint64_t steps;      /* END from here on */
    uint8_t digest_salt; /* differs: another job digest */
};

/* dp 1, cp 1, 2 micro-batches, 10 steps, vocabulary 1000, pieces of 8 and 8 tokens. */
struct fake_job fake_job_small(void);

/* What may be wrong with a BATCH. The frames' checksums are right in spite of it. */
enum fake_damage {
    FAKE_WHOLE,
    FAKE_BAD_CHECKSUM, /* but for this one */
    FAKE_EMPTY_PIECE,
    FAKE_LONGER_PIECE,
    FAKE_UNKNOWN_SOURCE,
    FAKE_ENDLESS_OFFSET,
    FAKE_WRONG_LOSS,
    FAKE_CHUNK_BEYOND_PIECE,
    FAKE_CHUNK_WITHOUT_PIECE,
    FAKE_EMPTY_CHUNK,
    FAKE_CHUNK_TWICE,
    FAKE_TORN_PIECES,
    FAKE_TORN_CHUNKS,
    FAKE_WRONG_RANK_CHUNKS,
    FAKE_WRONG_TOKENS,
    FAKE_SHORT_PAYLOAD,
    FAKE_LONG_PAYLOAD,
    FAKE_BIG_TOKEN,
    FAKE_HUGE_PADDING,
    FAKE_NO_PAYLOAD,
    FAKE_FRAME_TOO_MANY,
    FAKE_OTHER_STEP,
    FAKE_OTHER_MICROBATCH,
    FAKE_OTHER_RANK,
    FAKE_STATUS_BEYOND,
    FAKE_NO_HEADER,
    FAKE_DAMAGES
};

#define FAKE_RANGES 2

/* Micro-batches, counted on from step to step, and what is answered instead of them. */
struct fake_range {
    uint64_t from, until;
    uint32_t status; /* 0: none such */
};

struct fake_behaviour {
    bool ignore_hello, ignore_batch; /* no answer at all */
    uint32_t hello_status;           /* not 0: the answer to HELLO */
    uint32_t batch_status;           /* not 0: the answer to GET_BATCH */
    enum fake_damage damage;
    uint32_t times;      /* the status, damage or silence towards this many GET_BATCH; 0: all */
    bool hold;           /* nothing is planned: TIMEOUT at the deadline of a request */
    bool twice;          /* every BATCH is sent twice, behind one that nobody asked for */
    uint8_t digest_salt; /* differs: other digests of steps */
    bool chatter;        /* instead of a BATCH: HELLO_REPLY without end, slow to read */
    struct fake_range refused[FAKE_RANGES]; /* but for their header alone */
};

/* One GET_BATCH as it came. */
struct fake_request {
    uint64_t step;
    uint32_t microbatch, cp_rank, parts, deadline_ms;
    uint8_t job_digest[16];
};

struct fake_daemon; /* opaque */

/* Binds `endpoint` ("tcp://127.0.0.1:*" for any port) and starts; NULL on failure. */
struct fake_daemon *fake_start(const struct fake_job *job, const char *endpoint);

/* Stops and frees; what is unanswered stays so. NULL is accepted. */
void fake_stop(struct fake_daemon *daemon);

/* Where it is bound; the daemon's. */
const char *fake_endpoint(const struct fake_daemon *daemon);

void fake_behave(struct fake_daemon *daemon, struct fake_behaviour behaviour);

/* An entry more in the ledger: from `step` on digests are others, of steps and of the job. Entries
 * may come in any order, FAKE_MAX_ENTRIES at most. */
void fake_change(struct fake_daemon *daemon, uint64_t step, uint8_t salt);

/* Waits until `count` GET_BATCH have come in all, at most 10 s; false if they did not. */
bool fake_wait_requests(struct fake_daemon *daemon, size_t count);

/* The same for ACK; *ret_step is the last one's. */
bool fake_wait_acks(struct fake_daemon *daemon, size_t count, uint64_t *ret_step);

/* GET_BATCH so far; copies the first `capacity` in the order of arrival. */
size_t fake_requests(struct fake_daemon *daemon, struct fake_request *requests, size_t capacity);

size_t fake_hellos(struct fake_daemon *daemon);

/* What the last HELLO said of the steps that the trainer may have had. */
uint64_t fake_next_step(struct fake_daemon *daemon);

/* Token `offset` of a piece; offset may be its length, for the next token of the document. */
uint32_t fake_token(const struct fake_job *job, uint64_t step, uint32_t microbatch, uint32_t piece,
                    uint32_t offset);

/* Digest of a step, or of the job for step -1; `salt` is that of every entry up to it, added up. */
void fake_digest(const struct fake_job *job, uint64_t step, uint8_t salt, uint8_t digest[16]);

#endif
