/*
 * Sessions: what is known of each peer of the trainers' socket. Delivery does not depend on them
 * (any request is answered the same for anyone); they bound what one peer may have under way, and
 * tell operators who is who. Thread: the loop's. Owner: the server.
 */
#ifndef BALLAST_SERVE_SESSION_H
#define BALLAST_SERVE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/allow_list.h"
#include "serve/flight.h"
#include "serve/hash_table.h"
#include "serve/list.h"
#include "serve/sent_steps.h"
#include "wire/limits.h"

#define SESSION_REQUESTS 64        /* most requests of one peer that wait at once */
#define SESSION_IDLE_MS 900000     /* forgotten after this long without a message */
#define SESSION_ROOM_IDLE_MS 30000 /* when sessions run out, one this idle makes room */

/* A ROUTER socket's name for a peer. */
struct peer_id {
    unsigned char bytes[255];
    unsigned char size;
};

struct session {
    struct hash_link by_peer;
    struct list used;     /* sessions.used */
    struct list requests; /* those that wait, the oldest first */
    struct peer_id peer;
    struct flight *flight;
    char user[ALLOW_LIST_NAME_BYTES]; /* whose key it came with; "" without CURVE */
    bool superseded;                  /* the rank has come back as another peer */
    bool greeted;                     /* HELLO has come: the next seven fields are known */
    uint32_t dp, cp, pp, tp;
    bool elsewhere; /* it may ask other daemons, too */
    uint64_t incarnation;
    char client[WIRE_MAX_TEXT_BYTES + 1];
    bool has_requested, has_answered, has_acked;
    uint64_t requested_step; /* of the last request */
    uint64_t answered_step;  /* of the last batch sent */
    uint64_t acked_step;
    struct sent_steps sent; /* what its trainer may have been given */
    bool stuck;             /* it was told lately that a step is bad, ... */
    uint64_t stuck_step;    /* ... this one, ... */
    uint64_t stuck_ms;      /* ... and when */
    unsigned waiting;       /* length of `requests` */
    uint64_t batches, bytes;
    uint64_t seen_ms; /* last message from the peer */
};

struct sessions {
    struct hash_table table;
    struct list used; /* the one unheard of for longest first */
    size_t most, most_of_user;
    bool keep_ranks; /* what ranks were sent must not be forgotten: a step is bad */
    struct flights *flights;
};

/* At most so many in all, and `most_of_user` of one user (0: no fewer than in all). */
int sessions_init(struct sessions *sessions, size_t most, size_t most_of_user,
                  struct flights *flights, struct error *err);

/* A zeroed struct is accepted. No session may have waiting requests. */
void sessions_fini(struct sessions *sessions);

/*
 * The session of a peer, made when it is new, and marked as heard of; `user` as in the struct. NULL
 * when there are too many sessions, in all or of that user, that are all in use, or no memory.
 */
struct session *sessions_hear(struct sessions *sessions, const struct peer_id *peer,
                              const char *user, uint64_t now_ms);

/* Other sessions of the same rank are superseded, idle ones of earlier incarnations forgotten. */
void sessions_replace(struct sessions *sessions, const struct session *session);

/* The peer asks for data of `step`; true when it had consumed that, and has gone back. */
bool session_note_request(struct session *session, uint64_t step);

/* It is sent some of `step`, and so does not wait for it. */
void session_note_sent(struct session *session, uint64_t step);

/*
 * The ledger has changed from `step` on: who was sent nothing of that step asks for later ones
 * again, and whoever waited for one of them is heard of anew.
 */
void sessions_void(struct sessions *sessions, uint64_t step);

/* Forgets sessions that have been idle for too long. */
void sessions_expire(struct sessions *sessions, uint64_t now_ms);

/*
 * The furthest step that was sent to a peer heard of in the last `recent_ms`; false when there is
 * none.
 */
bool sessions_front(const struct sessions *sessions, uint64_t now_ms, uint64_t recent_ms,
                    uint64_t *ret_step);

/* The step that every greeted rank has consumed; false when there is none. */
bool sessions_consumed(const struct sessions *sessions, uint64_t *ret_step);

#endif
