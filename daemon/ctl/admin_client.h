/*
 * Asks a running daemon on its admin socket: one request, one reply, a deadline (PROTOCOL.md,
 * Admin). One thread.
 */
#ifndef BALLAST_CTL_ADMIN_CLIENT_H
#define BALLAST_CTL_ADMIN_CLIENT_H

#include <stddef.h>

#include "base/error.h"
#include "ctl/keys.h"

struct admin_client; /* opaque */

/*
 * Prepares a connection to a ZeroMQ endpoint, by CURVE when `keys` are given; does not wait for a
 * daemon. On success *ret_client is
 * the caller's until admin_close. EX_USAGE when the endpoint cannot be one.
 */
int admin_open(const char *endpoint, const struct keys *keys, struct admin_client **ret_client,
               struct error *err);
void admin_close(struct admin_client *client);

/*
 * Sends a command and waits for its answer. On success *ret_json is the caller's to free. After a
 * failure the client can only be closed. EX_UNAVAILABLE when no daemon answers within timeout_ms,
 * or none that speaks this protocol; EX_NOPERM as soon as one refuses the keys; a refusal gives
 * what its status deserves, EX_USAGE for a step that the job does not have.
 */
int admin_ask(struct admin_client *client, const char *command, const char *const *arguments,
              size_t argument_count, int timeout_ms, char **ret_json, struct error *err);

#endif
