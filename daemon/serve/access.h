/*
 * Who may connect and what each may do: the secret key of the daemon, the list of client keys, and
 * how many were refused for what. Fails closed: what cannot be decided is refused.
 *
 * Two decisions: at the handshake, by serve/zap.h, whether a key may connect at all; and for every
 * message, by the table of handlers, whether its role permits that, so that a key that was taken
 * off the list loses its rights at once. Sockets without CURVE permit everything to whoever reaches
 * them: config refuses those that are reachable from outside.
 * Thread: the loop's. Owner: the server.
 */
#ifndef BALLAST_SERVE_ACCESS_H
#define BALLAST_SERVE_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "serve/allow_list.h"

enum access_denial {
    DENIED_UNKNOWN_KEY, /* not on the list */
    DENIED_EXPIRED,     /* its last day has passed */
    DENIED_PLAINTEXT,   /* a client without CURVE */
    DENIED_HANDSHAKE,   /* a handshake that failed otherwise: wrong server key, garbage, silence */
    DENIED_UNDECIDABLE, /* the request of ZeroMQ made no sense */
    DENIED_ROLE,        /* a message that the role does not permit */
    DENIED_REMOVED,     /* a message of a key that is no longer on the list */
    ACCESS_DENIALS
};

struct access {
    bool secured; /* there is a secret key: sockets that can be reached speak CURVE */
    char secret_key[WIRE_KEY_BYTES];
    const char *list_path; /* borrowed */
    struct allow_list list;
    uint64_t denied[ACCESS_DENIALS];
    uint64_t told;   /* of all denied, how many access_news has told of */
    char latest[96]; /* the last of them, for the log */
};

/*
 * Reads key and list as the configuration says, which must outlive it; without a secret key it does
 * nothing. EX_CONFIG or EX_NOINPUT with what to do; also where libzmq was built without CURVE.
 */
int access_open(const struct access_options *options, struct access *ret_access, struct error *err);

/* Wipes the key. A zeroed struct is accepted, and left behind. */
void access_close(struct access *access);

/* Reads the list again. After a failure the old one holds. Blocks on a small file. */
int access_reload(struct access *access, struct error *err);

/*
 * May the key (Z85 text) connect at `now` (seconds since 1970)? The client, borrowed until the
 * next reload, or NULL: refused and counted.
 */
const struct allowed_client *access_admit(struct access *access, const char *key, int64_t now);

/*
 * May a peer do what the `roles` (bits of access_role) may do? `key` is the User-Id that came with
 * its message, or NULL; `curve` says whether its socket speaks CURVE. *ret_name is who it is, "" on
 * an open socket; borrowed until the next reload. False: refused and counted; *ret_name untouched.
 */
bool access_permits(struct access *access, bool curve, const char *key, unsigned roles,
                    const char **ret_name);

/* Counts a refusal; `who` is for the log. */
void access_count(struct access *access, enum access_denial denial, const char *who);

/* "denied_unknown_key", as `status` shows it. */
const char *access_denial_name(enum access_denial denial);

/* How many were refused since the last call. */
uint64_t access_news(struct access *access);

#endif
