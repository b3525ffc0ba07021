/*
 * The server's insides, for the files that make up the loop thread; nobody else includes this.
 * Every field belongs to the loop thread unless it says otherwise.
 */
#ifndef BALLAST_SERVE_STATE_H
#define BALLAST_SERVE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "serve/access.h"
#include "serve/bad_steps.h"
#include "serve/deadline.h"
#include "serve/endpoint.h"
#include "serve/flight.h"
#include "serve/gather.h"
#include "serve/handshakes.h"
#include "serve/lineage.h"
#include "serve/payload_cache.h"
#include "serve/plan_store.h"
#include "serve/planner_thread.h"
#include "serve/server.h"
#include "serve/session.h"
#include "serve/snapshots.h"
#include "serve/whole_steps.h"
#include "serve/zap.h"
#include "serve/zmq_loop.h"
#include "wire/status.h"

#define SERVER_STATUSES 32         /* more than the status table has */
#define SERVER_MOST_WAITING 65536  /* requests that wait at once, of all peers */
#define SERVER_QUEUED_MESSAGES 128 /* per peer and direction, inside ZeroMQ */
#define SERVER_DRAIN_MS 1000       /* how long waiting requests are still worked on */

enum server_phase { SERVER_STARTING, SERVER_SERVING, SERVER_DRAINING, SERVER_STOPPED };

struct server_counters {
    uint64_t hellos, get_batches, acks;
    uint64_t batches, bytes_sent;
    uint64_t refusals[SERVER_STATUSES]; /* replies by status, other than OK */
    uint64_t unreachable;               /* replies dropped because the peer was gone */
    uint64_t congested;                 /* replies dropped because the peer's queue was full */
};

struct server {
    const struct config *config;
    const struct corpus *corpus;
    struct log *log;
    struct endpoint trainers, operators;
    struct access access;
    void *zmq;

    uv_loop_t loop;
    struct zmq_loop trainer_events, operator_events;
    struct zap zap;
    struct handshakes trainer_handshakes, operator_handshakes;
    uv_async_t
        wake; /* sent by planner, workers and landings; the only handle other threads touch */
    uv_timer_t deadline_timer, housekeeping_timer, drain_timer, watchdog_timer, room_timer;
    uv_signal_t on_terminate, on_interrupt, on_hangup;
    uint64_t slices_seen; /* of the planner, at the last watchdog tick */
    uint64_t far_told_ms; /* when it was last told how far a far step is */

    struct plan_store *plans;
    struct planner_thread *planner;
    struct snapshots *snapshots; /* NULL: state.directory is not set */
    struct gather *gather;
    struct payload_cache cache;
    uint64_t machine_share; /* most bytes for it, where the configuration leaves that open */
    struct flights flights;
    bool accepts; /* a change of the corpus, from accept_step or before */
    uint64_t accept_step;
    struct lineage *lineage; /* the job's ledger, and what follows from it */
    uint64_t
        changing_from; /* the ledger is being changed from this step on; UINT64_MAX: it is not */

    struct sessions sessions;
    struct hash_table waiting; /* struct request, by step */
    struct list stalled;       /* struct request that waits for room, the oldest first */
    size_t stalled_count;
    size_t stalled_left; /* of them, still to be looked at since something has landed */
    struct deadlines deadlines;
    struct list
        questions; /* struct operator_question: operators' commands that wait for the planner */
    unsigned question_count;
    struct list searches; /* struct search: for documents, on threads of the pool */
    unsigned search_count;

    enum server_phase phase;
    uint64_t started_ms;
    uint64_t front;     /* the job stands here; see housekeeping */
    bool has_requested; /* requested_step is known */
    uint64_t requested_step;
    struct bad_steps bad_steps;
    struct whole_steps whole; /* kept where a bad shard may be dropped */
    struct payload_key ahead; /* the next payload to gather ahead of demand */
    struct server_counters counters;
    struct error fatal; /* why the server could not start */
};

uint64_t server_now_ms(const struct server *server);

/* Adds a deadline and sets the timer. False when out of memory. */
bool server_add_deadline(struct server *server, struct deadline *deadline, uint64_t at_ms);
void server_remove_deadline(struct server *server, struct deadline *deadline);

/* Counts a reply by its status. */
void server_count(struct server *server, enum wire_status status);

/* The job has this lineage from now on, and the memory that it needs. */
void server_follow(struct server *server, struct lineage *lineage);

/* Starts to drain: as SIGTERM. */
void server_drain(struct server *server);

/* ---- trainers.c ---- */
void trainers_ready(struct zmq_loop *events);

/* ---- operators.c ---- */
void operators_ready(struct zmq_loop *events);
void operators_on_plan(struct server *server, uint64_t step);
void operators_on_end(struct server *server, uint64_t end);
void operators_on_failure(struct server *server, uint64_t step, const struct error *error);
void operators_on_report(struct server *server);
void operators_on_snapshot(struct server *server);
void operators_on_change(struct server *server);
void operators_cancel(struct server *server); /* answers every question that waits: draining */

/* ---- ahead.c ---- */

/* Submits gather jobs for the steps ahead, as far as queue and cache permit. */
void gather_ahead_of_demand(struct server *server);

#endif
