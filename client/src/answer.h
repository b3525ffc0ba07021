/* What the daemons send: each message is checked, matched and acted on. */
#ifndef BALLAST_CLIENT_ANSWER_H
#define BALLAST_CLIENT_ANSWER_H

#include "client.h"
#include "frames.h"

/* Acts on one message that came from the connected endpoint; takes or closes `frames`. */
void answer_take(ballast_client *client, struct frames *frames, int64_t now_ns);

#endif
