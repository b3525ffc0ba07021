/* What the caller waits for. */
#ifndef BALLAST_CLIENT_DELIVER_H
#define BALLAST_CLIENT_DELIVER_H

#include "client.h"

/*
 * Nothing to deliver yet: BALLAST_TIMEOUT, or why not where the daemon cannot say whether its order
 * is the right one; then it is asked again by the next call.
 */
ballast_status deliver_not_yet(ballast_client *client);

#endif
