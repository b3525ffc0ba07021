/*
 * A client: one rank's conversation with the daemons of its job.
 *
 * Threads: the caller's only, and ZeroMQ's own, which move bytes. Everything happens inside a call
 * of the public functions; between calls answers collect in ZeroMQ's bounded queues.
 *
 * At any time at most one endpoint is connected. States of the session, and what leads on:
 *
 *   PAUSED      no connection, all endpoints failed lately   pause over -> CONNECTING
 *   CONNECTING  ZeroMQ connects; HELLO waits to be sent      sent -> GREETING
 *   GREETING    HELLO sent                                   accepted -> COMPARING
 *   COMPARING   asked for a digest that we know              the same -> READY
 *   READY       GET_BATCH may be sent                        (stays)
 *   FAILED      `fatal` says why, for ever
 *
 * From every state between PAUSED and FAILED a failover leads to the next endpoint (CONNECTING), or
 * to PAUSED when every endpoint has failed since the last useful answer. It takes back what is in
 * flight and sends it again; answers that have arrived stay. An endpoint of another job or data
 * order is dropped, that is never asked again; when none is left: FAILED. COMPARING is passed over
 * while no digest is known, so what the first daemon sends is what the others are measured by.
 *
 * Files: session.c (states, time), ask.c (what is sent), answer.c (what comes back), window.c
 * (what is asked ahead), deliver.c (what the caller waits for), change.c (what a change of the
 * ledger makes void).
 */
#ifndef BALLAST_CLIENT_CLIENT_H
#define BALLAST_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "ballast/ballast.h"
#include "digests.h"
#include "facts.h"
#include "link.h"
#include "options.h"
#include "problem.h"
#include "request.h"
#include "window.h"

enum session_state {
    SESSION_PAUSED,
    SESSION_CONNECTING,
    SESSION_GREETING,
    SESSION_COMPARING,
    SESSION_READY,
    SESSION_FAILED,
};

struct session {
    enum session_state state;
    struct link link;
    size_t endpoint;        /* index of the one connected, or tried last */
    bool *dropped;          /* by endpoint: serves something else, never asked again */
    size_t left;            /* endpoints that are not dropped */
    int64_t until_ns;       /* PAUSED, CONNECTING, GREETING: when patience ends */
    int64_t heard_ns;       /* when the endpoint last said anything */
    bool blocked;           /* the link takes no more for now */
    size_t failures;        /* endpoints that failed since the last useful answer */
    unsigned rounds;        /* times that all of them did */
    struct problem trouble; /* what keeps us from the next answer, for the caller's timeout */
    struct problem fatal;
    struct problem warning; /* the endpoint dropped last, and why */
};

/* A job digest, which holds from its step on until a daemon gives another for a later one. */
struct told {
    uint64_t step;
    uint8_t digest[BALLAST_DIGEST_BYTES];
};

struct ballast_client {
    struct options options;
    void *context;
    uint64_t incarnation;
    char name[WIRE_MAX_TEXT_BYTES + 1]; /* host name and process, for operators */
    struct session session;

    bool facts_known;
    struct facts facts;
    struct digests digests;
    struct order order;
    struct told told;  /* the job digest that a daemon gave last */
    uint64_t end_step; /* the first step that does not exist; UINT64_MAX: not known */

    uint64_t next_step; /* the caller has had batches before it, or began or went there */
    uint64_t next_id;
    bool window_open; /* ballast_next has been called: ask ahead */
    struct window window;
    struct request single; /* ballast_get */
    struct request check;  /* the digest of `order`, in COMPARING */

    bool ack_due;
    uint64_t ack_step;

    ballast_counters counters;
    struct problem last; /* of the caller's last call that did not succeed */
};

/* The first step that ballast_next does not deliver. */
static inline uint64_t client_next_ends(const ballast_client *client)
{
    uint64_t given = client->options.end_step;
    return given < client->end_step ? given : client->end_step;
}

#endif
