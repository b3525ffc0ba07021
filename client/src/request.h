/*
 * A GET_BATCH on its way. States, and what moves a request on:
 *
 *   FREE     not in use
 *   DUE      to be sent at `when_ns`                       request_start, request_again
 *   SENT     in flight; overdue at `when_ns`               request_sent
 *   READY    its answer is held in `reply`, checked        (session.c)
 *   FAILED   refused for good, `problem` says why          (session.c)
 *
 * Its id stays the same however often it is sent: whichever answer comes first is taken, later
 * ones find no SENT request of that id and are dropped.
 */
#ifndef BALLAST_CLIENT_REQUEST_H
#define BALLAST_CLIENT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "problem.h"
#include "reply.h"

enum request_state { REQUEST_FREE, REQUEST_DUE, REQUEST_SENT, REQUEST_READY, REQUEST_FAILED };

struct request {
    enum request_state state;
    uint64_t id;
    struct question question;
    int64_t when_ns;
    int64_t deadline_ns; /* SENT: when the server will have answered */
    bool sent_before;
    unsigned silences; /* sendings without any answer, in a row */
    unsigned rebuffs;  /* answers that asked for patience, in a row */
    unsigned timeouts; /* of them, in a row, that said the server has waited in vain */
    unsigned corrupt;  /* answers that failed their checks, since it started */
    struct reply reply;
    struct problem problem;
};

/* Starts a FREE request that is due now. */
void request_start(struct request *request, uint64_t id, const struct question *question);

/* Sends it again at `when_ns`. */
void request_again(struct request *request, int64_t when_ns);

/* It has just been sent, to one of `endpoints`, for the server to answer within `deadline_ms`. */
void request_sent(struct request *request, int64_t now_ns, uint32_t deadline_ms, size_t endpoints);

/* Takes a FAILED request back to DUE, as if it were new: its owner asks once more. */
void request_retry(struct request *request);

/* Gives up what it holds; FREE. */
void request_free(struct request *request);

#endif
