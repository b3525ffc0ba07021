/* How a public function waits: it pumps the session until it has what it came for. */
#ifndef BALLAST_CLIENT_AWAIT_H
#define BALLAST_CLIENT_AWAIT_H

#include "client.h"

/* Looks whether it is there. BALLAST_TIMEOUT: not yet; anything else ends the wait. */
typedef ballast_status await_look(ballast_client *client, void *context);

/*
 * Pumps and looks until `look` has something or `timeout_ms` is over; looks at least once. When the
 * session has failed for good, gives that. Leaves the reason of a failure in client->last.
 */
ballast_status await(ballast_client *client, int timeout_ms, await_look *look, void *context);

#endif
