/*
 * Requests for batches that could not be answered at once, and how they get answered.
 *
 *   WAITS_FOR_PLAN ──plan ready──▶ WAITS_FOR_PAYLOAD ──gathered──▶ answered
 *         ▲                              │
 *         └────── WAITS_FOR_ROOM ◀───────┘  too much under way, queue or cache full
 *
 * END, an error, the deadline or draining answers a request in any state. Waiting requests are
 * bounded for each peer and in total. Thread: the loop's. Owner: the server; teardown:
 * requests_answer_all.
 */
#ifndef BALLAST_SERVE_REQUEST_H
#define BALLAST_SERVE_REQUEST_H

#include <stdint.h>

#include "serve/gather.h"
#include "serve/reply.h"
#include "serve/state.h"

/* Answers a request of a session at once, or lets it wait up to `deadline_ms`. */
void request_begin(struct server *server, struct session *session,
                   const struct batch_question *question, uint32_t deadline_ms);

/* A step has been planned. */
void requests_on_plan(struct server *server, uint64_t step);

/* A gather job is done; the cache knows already. */
void requests_on_payload(struct server *server, const struct gather_job *job);

/* Looks again at some of the requests that wait for room. */
void requests_on_room(struct server *server);

/* How long the oldest waiting request of a session has waited; 0 when none waits. */
uint64_t request_oldest_ms(const struct server *server, const struct session *session);

/* Answers every request for `step` or a later one. */
void requests_answer_from(struct server *server, uint64_t step, enum wire_status status,
                          const char *message);

#endif
