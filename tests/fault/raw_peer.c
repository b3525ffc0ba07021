#include "fault/raw_peer.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

int raw_connect(uint16_t port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection >= 0 && connect(connection, (struct sockaddr *)&address, sizeof address) != 0) {
        close(connection);
        return -1;
    }
    return connection;
}

void raw_send(int connection, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    while (count > 0) {
        ssize_t sent = send(connection, at, count, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        at += sent;
        count -= (size_t)sent;
    }
}

void raw_handshake(int connection)
{
    unsigned char greeting[64] = { 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0, 'N', 'U', 'L', 'L' };
    static const unsigned char ready[] = "\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06"
                                         "DEALER";
    raw_send(connection, greeting, sizeof greeting);
    raw_send(connection, ready, sizeof ready - 1);
}

bool raw_await_hangup(int connection, int timeout_ms)
{
    char sink[4096];
    struct pollfd waiting = { .fd = connection, .events = POLLIN };
    while (poll(&waiting, 1, timeout_ms) > 0)
        if (recv(connection, sink, sizeof sink, 0) <= 0)
            return true;
    return false;
}
