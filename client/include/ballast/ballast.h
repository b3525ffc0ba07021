/*
 * ballast.h: the client library of Ballast, for trainer ranks.
 *
 * A trainer asks for (step, micro-batch, CP rank) and gets tokens, labels, positions, document
 * boundaries and the chunk table. The same question always has the same answer, from any daemon of
 * the job, before and after any crash; so a client may ask again, skip, or go back at will.
 *
 *     ballast_options options = BALLAST_OPTIONS_INIT;
 *     options.endpoints = "tcp://a:5755,tcp://b:5755";
 *     options.cp_rank = 1;
 *     ballast_client *client;
 *     if (ballast_open(&options, &client) != BALLAST_OK)
 *         ...
 *     ballast_batch *batch;
 *     while (ballast_next(client, 30000, &batch) == BALLAST_OK) {
 *         const ballast_view *view = ballast_batch_view(batch);
 *         train(view->tokens, view->labels, view->positions, view->padded_tokens, ...);
 *         ballast_batch_free(batch);
 *     }
 *     ballast_close(client);
 *
 * Rules that hold for every function:
 *   - A client and its batches may be used by one thread at a time; different clients by different
 *     threads at once. There is no global state; the library starts no thread but ZeroMQ's own,
 *     and never logs, prints, exits or raises a signal.
 *   - `ret_` arguments are written on success only.
 *   - A function that can block says so and takes a timeout in milliseconds; 0 returns at once.
 *   - Do not use a client across fork.
 * Wire format: PROTOCOL.md. Statuses: ballast_status below.
 */
#ifndef BALLAST_H
#define BALLAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BALLAST_VERSION_MAJOR 0
#define BALLAST_VERSION_MINOR 1
#define BALLAST_VERSION_PATCH 0

#if defined(__GNUC__)
#define BALLAST_API __attribute__((visibility("default")))
#else
#define BALLAST_API
#endif

/* Label of a token that has none: the last of a document, and padding. */
#define BALLAST_IGNORE_LABEL (-100)

/* Size of a digest in bytes. */
#define BALLAST_DIGEST_BYTES 16

/*
 * Results. 0 to 99 are the protocol's statuses, the same numbers as in proto/wire/status.def;
 * from 100 on they are the library's own.
 */
typedef enum ballast_status {
    BALLAST_OK = 0,
    BALLAST_END = 1,      /* end of data, at the same step for every rank */
    BALLAST_TIMEOUT = 2,  /* nothing within the timeout; ask again */
    BALLAST_BUSY = 3,     /* the daemon has too much under way; ask again */
    BALLAST_DRAINING = 4, /* the daemon shuts down and no other answers; ask again */
    BALLAST_BAD_REQUEST = 5,
    BALLAST_BAD_VERSION = 6,
    BALLAST_TOO_LARGE = 7,
    BALLAST_OUT_OF_RANGE = 8, /* no such micro-batch or rank in this job */
    BALLAST_WRONG_JOB = 9,    /* another job, configuration or corpus than expected */
    BALLAST_BAD_DATA = 10,    /* a token shard is damaged; the message names it */
    BALLAST_NO_TOKENS = 11,
    BALLAST_IO_ERROR = 12,
    BALLAST_INTERNAL = 13,
    BALLAST_UNKNOWN_COMMAND = 14,
    BALLAST_DENIED = 15,       /* the daemons do not take this client's key */
    BALLAST_WRONG_LAYOUT = 16, /* this step has another parallel layout or other windows */
    BALLAST_INVALID = 100,     /* an argument is out of its documented range */
    BALLAST_NO_MEMORY = 101,
    BALLAST_CORRUPT = 102, /* a reply failed its checksum or its checks at every endpoint */
    BALLAST_DIGEST = 103,  /* the data order differs from the digest the trainer expects */
    BALLAST_SYSTEM = 104,  /* ZeroMQ or the system refused; the message says what */
} ballast_status;

/* "end of data: ..."; one sentence, static. */
BALLAST_API const char *ballast_status_text(ballast_status status);

/* Version of the library at run time, "0.1.0"; static. */
BALLAST_API const char *ballast_version(void);

/* A rank's connection to the daemons of one job. */
typedef struct ballast_client ballast_client;

/* One rank's share of one micro-batch, in memory of the caller's allocator. */
typedef struct ballast_batch ballast_batch;

/* Where batches live: for pinned or otherwise special memory. Called on the caller's thread only.
 */
typedef struct ballast_allocator {
    void *(*allocate)(void *context, size_t bytes); /* aligned to 64 bytes, or NULL */
    void (*release)(void *context, void *memory);   /* never called with NULL */
    void *context;
} ballast_allocator;

/* How to open a client. Initialise with BALLAST_OPTIONS_INIT; 0 and NULL mean the default. */
typedef struct ballast_options {
    size_t size;      /* sizeof(ballast_options), set by BALLAST_OPTIONS_INIT */
    uint32_t version; /* 1, set by BALLAST_OPTIONS_INIT */
    uint32_t dp_rank; /* this rank's coordinates; dp_rank selects its micro-batches */
    uint32_t cp_rank;
    uint32_t pp_rank; /* with tp: which of the readers of dp_rank and cp_rank it is */
    uint32_t tp_rank;
    const char *endpoints; /* tcp://HOST:PORT or ipc://PATH, separated by commas; required; tried in
                              order, one at a time */
    const char *job;       /* refuse daemons of any other job; default: accept any */
    uint64_t first_step;   /* where ballast_next starts, up to 2^63 - 1 */
    uint32_t prefetch;     /* requests kept in flight, 1..64; default 4 */
    uint32_t retry_ms;     /* silence after which another endpoint is asked, 10..600000; default
                              800 */
    const uint8_t *expected_digest; /* digest of step first_step - 1, BALLAST_DIGEST_BYTES bytes, or
                                       NULL; see ballast_open */
    const ballast_allocator *allocator; /* copied; default: aligned_alloc and free */

    /* CURVE: what the daemon's socket is (a public key) and who we are (a secret key), both or
     * neither, each as 40 characters of Z85 or as a file of `ballastctl keygen`, not as both. */
    const char *server_key;      /* Z85 */
    const char *server_key_file; /* SERVER.pub */
    const char *secret_key;      /* Z85 */
    const char *secret_key_file; /* CLIENT.key, which nobody but its owner may read */

    uint64_t end_step; /* ballast_next ends before this step, as at the end of data, and asks for
                          nothing from it on; default: the end of data */
} ballast_options;

#ifdef __cplusplus /* designated initialisers came with C++20 */
#define BALLAST_OPTIONS_INIT                                                                       \
    {                                                                                              \
        sizeof(ballast_options), 1, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, \
            NULL, 0                                                                                \
    }
#else
#define BALLAST_OPTIONS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(ballast_options), .version = 1                                              \
    }
#endif

/*
 * Checks the options and prepares the connections; returns at once, without waiting for a daemon.
 * Every string is copied. On success *ret_client is the caller's until ballast_close.
 * With expected_digest, a daemon is asked for batches only if its digest of step first_step - 1
 * equals it: what a trainer stored in its checkpoint. For first_step 0 that is the digest of the
 * job. Without it, the first daemon that answers is right. From then on every daemon that is
 * connected is measured by the digest of a step seen before; one that has another is dropped, that
 * is never asked again (ballast_warning). When none is left: BALLAST_DIGEST.
 * Errors: BALLAST_INVALID, also for a key that is none or a secret that others may read;
 * BALLAST_NO_MEMORY; BALLAST_SYSTEM, also for a key file that cannot be read and for keys where
 * libzmq has no CURVE.
 */
BALLAST_API ballast_status ballast_open(const ballast_options *options,
                                        ballast_client **ret_client);

/* Closes and frees; batches stay valid until they are freed. NULL is accepted. Does not block. */
BALLAST_API void ballast_close(ballast_client *client);

/*
 * What went wrong in the last call that did not return BALLAST_OK: what, where, and what to do.
 * One line, never NULL, valid until the next call on this client.
 */
BALLAST_API const char *ballast_message(const ballast_client *client);

/*
 * The endpoint dropped last and why: it serves another job or orders the data otherwise, while
 * calls go on with the other endpoints. One line, empty when none was dropped (counters.dropped),
 * valid until the next call on this client. To be logged: the job has one replica less.
 */
BALLAST_API const char *ballast_warning(const ballast_client *client);

/*
 * Facts of the job, from a daemon's HELLO: as they are at first_step. A job may change its layout
 * on the way; who comes to a step of another one closes its client and opens one that begins there.
 */
typedef struct ballast_job {
    char name[64];
    char server[64]; /* program and version of the daemon that answered */
    uint32_t dp, cp;
    uint32_t microbatches;        /* per DP replica and step */
    uint32_t context_window;      /* S, tokens */
    uint32_t max_sequence_length; /* S_max, tokens */
    uint32_t vocab_size;
    uint64_t seed;
    uint64_t steps;                       /* steps until the end of data where known, else 0 */
    uint8_t digest[BALLAST_DIGEST_BYTES]; /* of configuration and corpus, and of what changed them
                                             up to first_step */
    uint64_t from_step, until_step; /* this layout holds from the one to the step before the other;
                                       0: to the end */
} ballast_job;

/*
 * Waits up to timeout_ms for a daemon of the right order and gives the job's facts; at once when
 * one has answered before. Errors: as ballast_next; BALLAST_OUT_OF_RANGE is about dp_rank or
 * cp_rank.
 */
BALLAST_API ballast_status ballast_get_job(ballast_client *client, int timeout_ms,
                                           ballast_job *ret_job);

/*
 * The next micro-batch of this rank: slots 0..microbatches-1 of step first_step, then of the next
 * step, and so on, prefetched in the background. Waits up to timeout_ms. On success *ret_batch is
 * the caller's until ballast_batch_free. After any other result nothing is lost: the next call
 * continues with the same micro-batch.
 *   BALLAST_END: for the same step on every rank, and again on every later call.
 *   BALLAST_TIMEOUT: call again. BALLAST_BUSY, _DRAINING, _IO_ERROR, _SYSTEM: the same, where the
 *     reason is known; so is BALLAST_DENIED at the end of the timeout: the daemon does not take our
 *     key, or one of the two speaks CURVE and the other does not.
 *   BALLAST_BAD_DATA, _NO_TOKENS, _INTERNAL: the daemon cannot serve this one. BALLAST_CORRUPT: no
 *     endpoint sent it whole. BALLAST_NO_MEMORY: the allocator gave none. The next call tries anew.
 *   BALLAST_WRONG_JOB, _OUT_OF_RANGE, _DIGEST, _BAD_VERSION, _BAD_REQUEST, _TOO_LARGE: no endpoint
 *     will ever serve this client.
 *   BALLAST_WRONG_LAYOUT: from this step on the job has another layout, which the message names.
 *   BALLAST_INVALID: timeout_ms is negative, or the allocator's memory is not aligned.
 */
BALLAST_API ballast_status ballast_next(ballast_client *client, int timeout_ms,
                                        ballast_batch **ret_batch);

/*
 * Micro-batch `slot` (0..microbatches-1 of this rank's DP replica) of any step, past or future.
 * Does not move ballast_next. Waits up to timeout_ms; ownership and results as ballast_next, and
 * BALLAST_OUT_OF_RANGE for a slot that the job does not have.
 */
BALLAST_API ballast_status ballast_get(ballast_client *client, uint64_t step, uint32_t slot,
                                       int timeout_ms, ballast_batch **ret_batch);

/*
 * Moves ballast_next to slot 0 of `step`, up to 2^63 - 1 (BALLAST_INVALID beyond). What is in
 * flight for it is forgotten. The trainer goes there, as back to a checkpoint: it gives up what it
 * had of that step and later ones, which daemons may change from then on.
 */
BALLAST_API ballast_status ballast_seek(ballast_client *client, uint64_t step);

/*
 * Tells the daemons that this rank has consumed `step` and all before it: for lag reports and cache
 * eviction. Never needed for correctness. Does not block; always BALLAST_OK.
 */
BALLAST_API ballast_status ballast_ack(ballast_client *client, uint64_t step);

/* A piece of a micro-batch: a document, or one part of a document cut to the context window. */
typedef struct ballast_piece {
    uint64_t document;      /* number within its source */
    uint64_t offset;        /* its first token, counted from the start of the document */
    uint64_t arrived;       /* step in which it entered the packer: step - arrived is its delay */
    uint32_t length;        /* tokens, at least 1 */
    uint16_t source;        /* number of the source in the configuration */
    uint16_t ends_document; /* 1: its last token is the document's last and has no label */
} ballast_piece;

/* A run of one piece's tokens that one CP rank owns. */
typedef struct ballast_chunk {
    uint32_t piece;  /* index into pieces */
    uint32_t start;  /* first token, counted from the start of the piece */
    uint32_t length; /* tokens, at least 1 */
} ballast_chunk;

/*
 * What a batch holds. Read-only, valid until ballast_batch_free. New fields are only ever added at
 * the end.
 */
typedef struct ballast_view {
    uint64_t step;
    uint32_t microbatch; /* index over all DP replicas: dp_rank x microbatches + slot */
    uint32_t slot;
    uint32_t cp_rank, cp; /* this rank, and how many there are */

    /* This rank's tokens: its chunks in local order, then padding. */
    uint32_t local_tokens;      /* without padding */
    uint32_t padded_tokens;     /* the same on every CP rank of the micro-batch */
    const int32_t *tokens;      /* [padded_tokens] ids; padding 0 */
    const int32_t *labels;      /* [padded_tokens] next token of the document, or
                                   BALLAST_IGNORE_LABEL */
    const int32_t *positions;   /* [padded_tokens] position within the piece, from 0; padding 0 */
    uint32_t local_loss_tokens; /* labels of this rank that are not BALLAST_IGNORE_LABEL */

    /* The whole micro-batch, over all CP ranks. */
    uint32_t piece_count;
    const ballast_piece *pieces; /* [piece_count] in the order of the sequence */
    const uint32_t *cu_seqlens;  /* [piece_count + 1] offset of each piece in the sequence */
    const ballast_chunk *chunks; /* [rank_chunks[cp]] chunks of all ranks, rank by rank */
    const uint32_t *rank_chunks; /* [cp + 1] rank r owns chunks rank_chunks[r] up to [r + 1] */
    uint32_t microbatch_tokens;
    uint32_t microbatch_loss_tokens;

    /* The whole step, over all micro-batches: what to divide the summed loss by. */
    uint64_t step_tokens;
    uint64_t step_loss_tokens;

    uint64_t workload;                    /* predicted, in the unit of the job's cost model */
    uint8_t digest[BALLAST_DIGEST_BYTES]; /* of the step: store it in the checkpoint */
} ballast_view;

/* The content of a batch; the pointer stays the batch's, which must not be NULL. */
BALLAST_API const ballast_view *ballast_batch_view(const ballast_batch *batch);

/* Frees a batch with the allocator of its client, which may be closed by now. NULL is accepted. */
BALLAST_API void ballast_batch_free(ballast_batch *batch);

/* Counters of a client since ballast_open; never reset. */
typedef struct ballast_counters {
    uint64_t batches;   /* delivered */
    uint64_t bytes;     /* received, headers and tables included */
    uint64_t requests;  /* sent, retries included */
    uint64_t retries;   /* sent again after silence, a failover or a retryable status */
    uint64_t failovers; /* changes of endpoint */
    uint64_t corrupt;   /* replies that failed a check */
    uint64_t wait_ns;   /* spent waiting inside ballast_next, ballast_get and ballast_get_job */
    uint64_t dropped;   /* endpoints that are never asked again; see ballast_warning */
} ballast_counters;

BALLAST_API void ballast_get_counters(const ballast_client *client, ballast_counters *ret_counters);

#ifdef __cplusplus
}
#endif

#endif
