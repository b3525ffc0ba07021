/* The connection to one daemon after another, and its timing. States: client.h. */
#ifndef BALLAST_CLIENT_SESSION_H
#define BALLAST_CLIENT_SESSION_H

#include "client.h"

/* Connects to the first endpoint. BALLAST_NO_MEMORY, or BALLAST_SYSTEM; then nothing is left. */
ballast_status session_open(ballast_client *client);

/* Closes the connection and forgets all requests. A zeroed session is accepted. */
void session_close(ballast_client *client);

/*
 * Does all that can be done now, without blocking: takes what came, notices what is late, moves to
 * another endpoint, sends what is due.
 */
void session_pump(ballast_client *client);

/* Waits until there may be something to pump, at most until `until_ns`. */
void session_wait(ballast_client *client, int64_t until_ns);

/* The endpoint spoken to, or tried last; the client's. */
const char *session_endpoint(const ballast_client *client);

/* A useful answer came: all endpoints have their chance again. */
void session_succeed(ballast_client *client);

/* Leaves this endpoint for the next; `trouble` has been set by the caller. */
void session_fail_over(ballast_client *client);

/* Never asks this endpoint again, counts it, and warns; the session fails with this problem when it
 * was the last. */
void session_drop(ballast_client *client, ballast_status status, const char *why);

/* Ends everything: every later call gives this problem. */
__attribute__((format(printf, 3, 4))) void session_fail(ballast_client *client,
                                                        ballast_status status, const char *format,
                                                        ...);

/* Calls `visit` on every request that is in use. */
void session_each_request(ballast_client *client,
                          void (*visit)(ballast_client *client, struct request *request,
                                        void *context),
                          void *context);

#endif
