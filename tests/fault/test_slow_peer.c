/* A peer that asks and never reads: memory stays bounded, and the others are served. */
#include <criterion/criterion.h>

#include "fault/daemon_process.h"
#include "fault/peer.h"

#define SLOW_PEERS 4
#define REQUESTS 20000 /* of each, for about 1 KiB: 80 MiB if all answers were kept */
#define MANY 24
#define MANY_REQUESTS 6000
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MOST_GROWTH_KIB (512u << 10) /* sanitizers keep freed memory for a while */
#else
#define MOST_GROWTH_KIB (24u << 10)
#endif

/* Room for one message on this side, and as little as TCP allows in between. */
static void open_slowly(struct peer *peer, const char *endpoint)
{
    int small = 4096, one = 1;
    peer_open(peer, endpoint);
    zmq_disconnect(peer->socket, endpoint);
    zmq_setsockopt(peer->socket, ZMQ_RCVBUF, &small, sizeof small);
    zmq_setsockopt(peer->socket, ZMQ_RCVHWM, &one, sizeof one);
    cr_assert_eq(zmq_connect(peer->socket, endpoint), 0);
}

static void ask_much(struct peer *peer, uint64_t requests)
{
    for (uint64_t n = 0; n < requests; n++) {
        struct question question = { n % 50, n % DAEMON_MICROBATCHES, n % DAEMON_CP, PEER_ALL_PARTS,
                                     1000 };
        peer_ask(peer, &question);
    }
}

Test(slow_peer, does_not_grow_the_daemon_nor_stop_others)
{
    struct daemon_process ballastd;
    struct peer slow[SLOW_PEERS], good;
    daemon_start(&ballastd, "");
    peer_open(&good, ballastd.endpoint);
    uint64_t first = peer_step_hash(&good, 0, DAEMON_MICROBATCHES, DAEMON_CP);
    size_t before = process_resident_kib(ballastd.pid), most = before;

    for (int i = 0; i < SLOW_PEERS; i++) {
        open_slowly(&slow[i], ballastd.endpoint);
        ask_much(&slow[i], REQUESTS);
    }
    for (uint64_t step = 1; step < 200; step++) {
        peer_step_hash(&good, step, DAEMON_MICROBATCHES, DAEMON_CP);
        size_t now = process_resident_kib(ballastd.pid);
        most = now > most ? now : most;
    }
    cr_assert_eq(peer_step_hash(&good, 0, DAEMON_MICROBATCHES, DAEMON_CP), first);
    cr_assert_lt(most - before, MOST_GROWTH_KIB);

    for (int i = 0; i < SLOW_PEERS; i++)
        peer_close(&slow[i]);
    peer_close(&good);
    cr_assert_eq(daemon_close(&ballastd), 0);
}

/*
 * Many of them together: each holds what it was given, which would leave nothing for the others if
 * every peer had a fixed share.
 */
Test(slow_peer, many_of_them_leave_room_for_others)
{
    struct daemon_process ballastd;
    struct peer slow[MANY], good;
    daemon_start(&ballastd, "");
    peer_open(&good, ballastd.endpoint);
    peer_step_hash(&good, 0, DAEMON_MICROBATCHES, DAEMON_CP);
    size_t before = process_resident_kib(ballastd.pid);
    for (int i = 0; i < MANY; i++) {
        open_slowly(&slow[i], ballastd.endpoint);
        ask_much(&slow[i], MANY_REQUESTS);
    }
    for (uint64_t step = 1; step < 200; step++)
        peer_step_hash(&good, step, DAEMON_MICROBATCHES, DAEMON_CP);
    cr_assert_lt(process_resident_kib(ballastd.pid), before + MOST_GROWTH_KIB);
    for (int i = 0; i < MANY; i++)
        peer_close(&slow[i]);
    peer_close(&good);
    cr_assert_eq(daemon_close(&ballastd), 0);
}
