/*
 * A bound ROUTER socket with every limit set, and for ipc the lock that keeps a second daemon off.
 *
 * libzmq unlinks whatever lies at an ipc path before it binds. That clears what a killed daemon
 * left, but would also take the path from a living one; so the path is locked first
 * ("<path>.lock"; the kernel drops the lock with the process), and a file that is no socket is
 * never touched. Thread: the loop's.
 */
#ifndef BALLAST_SERVE_ENDPOINT_H
#define BALLAST_SERVE_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define ENDPOINT_LINGER_MS 2000 /* most time that what was sent may take when the socket closes */

struct endpoint {
    const char *address; /* borrowed */
    int lock;            /* descriptor, or -1 */
    /* Z85, borrowed: set before endpoint_bind to demand CURVE; the ZAP handler runs already */
    const char *curve_secret_key;
    void *socket;
    bool bound;
};

/*
 * Takes the lock of an ipc address. EX_UNAVAILABLE when another process holds it, EX_CONFIG when
 * the path cannot be a socket. Does nothing for other addresses.
 */
int endpoint_lock(const char *address, struct endpoint *ret_endpoint, struct error *err);

struct endpoint_limits {
    uint64_t max_message_bytes; /* a peer that sends a larger frame is cut off */
    int most_queued;            /* messages per peer, each way */
};

/*
 * Binds a locked endpoint. An ipc socket is the user's alone, and the group's where the umask lets
 * the group write. EX_UNAVAILABLE when the address is in use
 * or not this machine's, EX_CONFIG when it makes no sense.
 */
int endpoint_bind(struct endpoint *endpoint, void *context, const struct endpoint_limits *limits,
                  struct error *err);

/* Closes socket and lock, and removes their files. A zeroed or half-open endpoint is accepted;
 * linger 0 drops what is left.
 */
void endpoint_close(struct endpoint *endpoint, int linger_ms);

#endif
