#include "serve/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "base/again.h"

#define LOCK_SUFFIX ".lock"
/*
 * A TCP peer that takes nothing for so long is cut off, whether its machine has gone or its process
 * has stopped: heartbeats do not notice the latter, since they queue behind what it does not take.
 */
#define DEAF_MS 60000
#define LOCK_PATH_BYTES (sizeof((struct sockaddr_un *)0)->sun_path + sizeof LOCK_SUFFIX)

/* The path of an ipc address that names a file, or NULL. */
static const char *ipc_path(const char *address)
{
    static const char scheme[] = "ipc://";
    if (strncmp(address, scheme, sizeof scheme - 1) != 0)
        return NULL;
    const char *path = address + sizeof scheme - 1;
    return *path == '@' || *path == '*' ? NULL : path;
}

static int check_path(const char *address, const char *path, struct error *err)
{
    if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return error_set(err, EX_CONFIG, "%s: the path is longer than the %zu bytes of a socket's",
                         address, sizeof((struct sockaddr_un *)0)->sun_path - 1);
    struct stat facts;
    if (lstat(path, &facts) == 0 && !S_ISSOCK(facts.st_mode))
        return error_set(err, EX_CONFIG,
                         "%s: there is a file that is no socket; remove it or choose another path",
                         address);
    return 0;
}

/* Locks `file`; *ret_stale says that it was unlinked meanwhile, so that the lock means nothing. */
static int lock_file(int file, const char *lock_path, bool *ret_stale)
{
    if (flock(file, LOCK_EX | LOCK_NB) != 0)
        return errno;
    struct stat held, there = { 0 };
    if (fstat(file, &held) != 0 || (stat(lock_path, &there) != 0 && errno != ENOENT))
        return errno;
    *ret_stale = held.st_ino != there.st_ino || held.st_dev != there.st_dev;
    return 0;
}

static int take_lock(const char *address, const char *lock_path, int *ret_lock, struct error *err)
{
    for (;;) {
        int file = open_again(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0)
            return error_set(err, errno == ENOENT || errno == ENOTDIR ? EX_CONFIG : EX_UNAVAILABLE,
                             "%s: cannot create %s: %s; make its directory, writable by this user, "
                             "or set another address",
                             address, lock_path, strerror(errno));
        bool stale = false;
        int failed = lock_file(file, lock_path, &stale);
        if (!failed && !stale) {
            *ret_lock = file;
            return 0;
        }
        close(file);
        if (failed == EWOULDBLOCK)
            return error_set(err, EX_UNAVAILABLE,
                             "%s: another ballastd is running on it; stop that one, or set another "
                             "address",
                             address);
        if (failed)
            return error_set(err, EX_UNAVAILABLE, "%s: cannot lock %s: %s", address, lock_path,
                             strerror(failed));
    }
}

int endpoint_lock(const char *address, struct endpoint *ret_endpoint, struct error *err)
{
    struct endpoint endpoint = { .address = address, .lock = -1 };
    const char *path = ipc_path(address);
    if (path) {
        char lock_path[LOCK_PATH_BYTES];
        int failed = check_path(address, path, err);
        if (failed)
            return failed;
        snprintf(lock_path, sizeof lock_path, "%s" LOCK_SUFFIX, path);
        failed = take_lock(address, lock_path, &endpoint.lock, err);
        if (failed)
            return failed;
    }
    *ret_endpoint = endpoint;
    return 0;
}

static bool set(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

/*
 * libzmq bounds frames and whole messages, but not how many frames a message has: one that never
 * ends grows until memory does. Who can connect must be trusted that far, which is what CURVE is
 * for, or memory be limited by the service manager.
 */
static bool set_options(void *socket, const char *address, const struct endpoint_limits *limits)
{
    int64_t largest =
        limits->max_message_bytes > INT64_MAX ? INT64_MAX : (int64_t)limits->max_message_bytes;
    return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest) == 0 &&
           set(socket, ZMQ_SNDHWM, limits->most_queued) &&
           set(socket, ZMQ_RCVHWM, limits->most_queued) &&
           set(socket, ZMQ_LINGER, ENDPOINT_LINGER_MS) && set(socket, ZMQ_ROUTER_MANDATORY, 1) &&
           set(socket, ZMQ_ROUTER_HANDOVER, 1) && set(socket, ZMQ_BACKLOG, 1024) &&
           set(socket, ZMQ_HANDSHAKE_IVL, 10000) && set(socket, ZMQ_HEARTBEAT_IVL, 10000) &&
           set(socket, ZMQ_HEARTBEAT_TIMEOUT, 30000) && set(socket, ZMQ_TCP_KEEPALIVE, 1) &&
           set(socket, ZMQ_TCP_KEEPALIVE_IDLE, 60) && set(socket, ZMQ_TCP_KEEPALIVE_INTVL, 10) &&
           set(socket, ZMQ_TCP_KEEPALIVE_CNT, 6) && set(socket, ZMQ_TCP_MAXRT, DEAF_MS) &&
           set(socket, ZMQ_IPV6, strchr(address, '[') != NULL);
}

/* The domain is for ZeroMQ's ears: with one, it asks the handler of keys. */
static bool set_curve(void *socket, const char *secret_key)
{
    static const char domain[] = "ballast";
    return !secret_key ||
           (set(socket, ZMQ_CURVE_SERVER, 1) &&
            zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, strlen(secret_key) + 1) == 0 &&
            zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, domain, sizeof domain - 1) == 0);
}

static int bind_error(const char *address, int number, struct error *err)
{
    switch (number) {
    case EADDRINUSE:
        return error_set(err, EX_UNAVAILABLE,
                         "%s: the address is in use; stop the other daemon, or set another address",
                         address);
    case EINVAL:
    case EPROTONOSUPPORT:
    case ENOCOMPATPROTO:
    case ENOENT:
    case ENAMETOOLONG:
        return error_set(err, EX_CONFIG,
                         "%s: cannot bind: %s; expected tcp://ADDRESS:PORT or ipc://PATH", address,
                         zmq_strerror(number));
    default:
        return error_set(err, EX_UNAVAILABLE, "%s: cannot bind: %s", address, zmq_strerror(number));
    }
}

int endpoint_bind(struct endpoint *endpoint, void *context, const struct endpoint_limits *limits,
                  struct error *err)
{
    endpoint->socket = zmq_socket(context, ZMQ_ROUTER);
    if (!endpoint->socket || !set_options(endpoint->socket, endpoint->address, limits) ||
        !set_curve(endpoint->socket, endpoint->curve_secret_key))
        return error_set(err, EX_OSERR, "%s: cannot make a socket: %s", endpoint->address,
                         zmq_strerror(zmq_errno()));
    /* libzmq makes an ipc file inside zmq_bind: only the mask keeps others out from the start. */
    mode_t mask = umask(0177);
    if (!(mask & S_IWGRP))
        umask(0117);
    int failed = zmq_bind(endpoint->socket, endpoint->address) ? zmq_errno() : 0;
    umask(mask);
    endpoint->bound = failed == 0;
    return failed ? bind_error(endpoint->address, failed, err) : 0;
}

/* While the lock is held, so that nobody else's files are removed. libzmq leaves its socket. */
static void release_path(struct endpoint *endpoint)
{
    const char *path = ipc_path(endpoint->address);
    char lock_path[LOCK_PATH_BYTES];
    snprintf(lock_path, sizeof lock_path, "%s" LOCK_SUFFIX, path);
    if (endpoint->bound)
        unlink(path);
    unlink(lock_path);
    close(endpoint->lock);
    endpoint->lock = -1;
}

void endpoint_close(struct endpoint *endpoint, int linger_ms)
{
    if (!endpoint->address)
        return;
    if (endpoint->socket) {
        set(endpoint->socket, ZMQ_LINGER, linger_ms);
        zmq_close(endpoint->socket);
        endpoint->socket = NULL;
    }
    if (endpoint->lock >= 0)
        release_path(endpoint);
    *endpoint = (struct endpoint){ 0 };
}
