/* Peers below ZeroMQ: plain TCP connections that send whatever a test wants. */
#ifndef BALLAST_TESTS_RAW_PEER_H
#define BALLAST_TESTS_RAW_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A connection to 127.0.0.1, or -1. */
int raw_connect(uint16_t port);

/* Sends what the other side takes; it may hang up at any time. */
void raw_send(int connection, const void *bytes, size_t count);

/* Sends the greeting and handshake of a DEALER: whatever follows is taken for frames. */
void raw_handshake(int connection);

/* Reads until the other side hangs up; false when it does not within `timeout_ms` of silence. */
bool raw_await_hangup(int connection, int timeout_ms);

#endif
