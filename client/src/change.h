/*
 * The job's ledger may change from a step on that no trainer has had (PROTOCOL.md, HELLO and
 * BATCH). What the client holds of such steps, or remembers of them, is then void: batches are
 * asked for again, digests and the end of data are learnt anew. What the caller has had is never
 * void: a daemon that says otherwise of it disagrees on the order.
 */
#ifndef BALLAST_CLIENT_CHANGE_H
#define BALLAST_CLIENT_CHANGE_H

#include "client.h"

/* One more than the furthest step that the caller has had, or can get without another word. */
uint64_t change_next_step(ballast_client *client);

/* A daemon was told just that: what is held besides is asked for again. */
void change_hello_sent(ballast_client *client);

/* A batch of status OK has arrived and is not kept yet: is its job digest news of a change? */
void change_in_batch(ballast_client *client, const Ballast__V1__Batch *batch);

/* client->facts are a daemon's that knows of more changes than the one before: we cannot tell which
 * steps they are about. */
void change_in_hello(ballast_client *client);

/* From `step` on daemons are to be asked with this job digest. */
void change_learn(ballast_client *client, uint64_t step, const uint8_t *job_digest);

#endif
