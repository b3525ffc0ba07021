/* The job's ledger may change from a step on of which no trainer has had anything (PROTOCOL.md). */
#ifndef BALLAST_CLIENT_CHANGE_H
#define BALLAST_CLIENT_CHANGE_H

#include "client.h"

/* One more than the furthest step that the caller has had, or can get without another word. */
uint64_t change_next_step(ballast_client *client);

/* A daemon was told just that. */
void change_hello_sent(ballast_client *client);

#endif
