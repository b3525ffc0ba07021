/* What the loop reacts to besides its sockets: wake-ups, timers, signals. Thread: the loop's. */
#ifndef BALLAST_SERVE_EVENTS_H
#define BALLAST_SERVE_EVENTS_H

#include "serve/state.h"

/* Makes every handle but the sockets' and starts what runs from the start. EX_OSERR. */
int events_open(struct server *server, struct error *err);

/* Any thread may send it: planner, worker, or a landing has something for the loop. */
void events_wake(void *server);

#endif
