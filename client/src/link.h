/*
 * A connection to one endpoint: a DEALER and the monitor that tells when it breaks. After a break
 * the peer knows nothing of us, so a link that broke is closed and a new one says HELLO.
 * Nothing here blocks; one thread.
 */
#ifndef BALLAST_CLIENT_LINK_H
#define BALLAST_CLIENT_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "frames.h"
#include "protobuf-c/protobuf-c.h"

struct link {
    void *dealer; /* NULL: closed */
    void *monitor;
    unsigned serial; /* counts openings: names the monitor */
};

struct link_options {
    const char *endpoint;
    uint32_t retry_ms;       /* sets heartbeats and the longest pause between connects */
    uint32_t requests;       /* most that are in flight: bounds both queues */
    int64_t max_frame_bytes; /* larger frames end the connection */
    /* Z85, for CURVE; NULL, all three, without */
    const char *server_key, *public_key, *secret_key;
};

/*
 * Starts connecting; `link` is zeroed or closed. Returns 0, or an errno with everything closed
 * again. The endpoint's syntax is
 * checked here by ZeroMQ (EINVAL, EPROTONOSUPPORT).
 */
int link_open(struct link *link, void *context, const struct link_options *options);

/* Drops what is not sent yet. A zeroed or closed link is accepted. */
void link_close(struct link *link);

/* What the connection has been through since the last call. */
struct link_news {
    bool broken;  /* it was up and went down, maybe up again */
    bool refused; /* the last attempt to connect failed; ZeroMQ keeps trying */
    bool denied;  /* the daemon does not take our key */
    bool foreign; /* one of the two speaks CURVE and the other does not */
    bool failed;  /* the handshake broke off: mostly a wrong server key, or one without the other */
};

struct link_news link_news(struct link *link);

/* Encodes and sends. 0, EAGAIN while the peer is not connected or takes no more, or an errno. */
int link_send(struct link *link, const ProtobufCMessage *message);

/* As frames_receive. */
int link_receive(struct link *link, struct frames *ret_frames);

/*
 * Waits until something came or, with `to_send`, can be sent, at most `ms`; signals may end it
 * early. With a closed link it only waits.
 */
void link_wait(struct link *link, bool to_send, long ms);

#endif
