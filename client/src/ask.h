/* What the client sends: HELLO, GET_BATCH, ACK. Nothing here blocks. */
#ifndef BALLAST_CLIENT_ASK_H
#define BALLAST_CLIENT_ASK_H

#include "client.h"

/* Sends HELLO; 0, EAGAIN while not connected, or another errno of ZeroMQ. */
int ask_hello(ballast_client *client);

/* May this request be sent in the session's state? */
bool ask_permitted(const ballast_client *client, const struct request *request);

/* Asks ahead as far as `prefetch` allows, and sends every request and acknowledgement that is due.
 */
void ask_all(ballast_client *client, int64_t now_ns);

/* Starts a FREE request for one micro-batch of this rank; the job's facts are known. */
void ask_start(ballast_client *client, struct request *request, uint64_t step, uint32_t slot,
               uint32_t parts);

/* Starts a request again, with another id: no answer to the former one is taken. */
void ask_anew(ballast_client *client, struct request *request);

/* Starts client->check: the header alone of a micro-batch that every layout has. */
void ask_start_check(ballast_client *client, uint64_t step);

/* What a server is given to answer in: half of the silence after which we leave it. */
uint32_t ask_deadline_ms(const ballast_client *client);

#endif
