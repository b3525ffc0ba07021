/* Replies to trainer ranks and operators. Thread: the loop's; nothing here blocks. */
#ifndef BALLAST_SERVE_REPLY_H
#define BALLAST_SERVE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/payload.h"
#include "serve/session.h"
#include "serve/shared_plan.h"
#include "serve/state.h"

/* What a GET_BATCH asked for. */
struct batch_question {
    uint64_t request, step;
    uint32_t microbatch, cp_rank, parts;
};

/*
 * Sends the batch; `payload` may be NULL when no tokens were asked for. False when the peer is gone
 * or does not read: the reply is dropped and counted, and the client will ask again.
 */
bool reply_batch(struct server *server, struct session *session,
                 const struct batch_question *question, struct shared_plan *plan,
                 struct payload *payload);

/* Sends the header of a step that cannot be planned any more, with its digest and nothing else. */
void reply_digest(struct server *server, const struct peer_id *peer,
                  const struct batch_question *question, struct digest digest);

/* Sends a BATCH that says why there is none. `message` NULL: the status's own text. */
void reply_no_batch(struct server *server, const struct peer_id *peer,
                    const struct batch_question *question, enum wire_status status,
                    const char *message);

/* Answers HELLO with the facts of `step`. */
void reply_hello(struct server *server, const struct peer_id *peer, uint64_t step,
                 enum wire_status status, const char *message);

/* Refuses what could not be understood, on either socket. */
void reply_refusal(struct server *server, void *socket, const struct peer_id *peer,
                   enum wire_status status, const char *message);

/* Answers an operator: `json` is sent when the status is OK. */
void reply_admin(struct server *server, const struct peer_id *peer, enum wire_status status,
                 const char *message, const char *json);

/* The status that stands for a sysexits code. */
enum wire_status reply_status(int sysexit);

#endif
