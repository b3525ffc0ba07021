/* How a daemon starts, stops, dies and comes back. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sysexits.h>

#include "fault/daemon_process.h"
#include "fault/peer.h"

static uint64_t hash_of(struct peer *peer, uint64_t step)
{
    return peer_step_hash(peer, step, DAEMON_MICROBATCHES, DAEMON_CP);
}

Test(lifecycle, a_signal_drains_and_the_waiting_are_told)
{
    const int signals[] = { SIGTERM, SIGINT };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct daemon_process ballastd;
        struct peer peer;
        struct answer answer;
        daemon_start(&ballastd, "");
        peer_open(&peer, ballastd.endpoint);
        hash_of(&peer, 0);
        struct question far = { UINT64_C(1) << 50, 0, 0, PEER_ALL_PARTS, PEER_PATIENCE_MS };
        struct question invalid = { 0, 99, 0, PEER_ALL_PARTS, 0 };
        peer_ask(&peer, &far);
        peer_get(&peer, &invalid, &answer); /* so the first has arrived too */
        answer_free(&answer);
        kill(ballastd.pid, signals[i]);
        cr_assert(peer_receive(&peer, &answer, PEER_PATIENCE_MS));
        cr_assert_eq(answer_status(&answer), WIRE_DRAINING);
        cr_assert_eq(answer.message.batch->request, peer.requests - 1);
        answer_free(&answer);
        cr_assert_eq(process_wait(ballastd.pid), 0);
        ballastd.pid = 0;
        peer_close(&peer);
        daemon_close(&ballastd);
    }
}

Test(lifecycle, a_killed_daemon_comes_back_with_the_same_data)
{
    struct daemon_process ballastd;
    struct peer peer;
    uint64_t before[20];
    daemon_start(&ballastd, "");
    peer_open(&peer, ballastd.endpoint);
    for (uint64_t step = 0; step < 20; step++)
        before[step] = hash_of(&peer, step);
    cr_assert_eq(daemon_end(&ballastd, SIGKILL), 128 + SIGKILL);
    ballastd.pid = daemon_spawn(&ballastd);
    for (uint64_t step = 20; step-- > 0;)
        cr_assert_eq(hash_of(&peer, step), before[step], "step %llu differs",
                     (unsigned long long)step);
    peer_close(&peer);
    cr_assert_eq(daemon_close(&ballastd), 0);
}

Test(lifecycle, a_second_daemon_is_refused_and_the_first_unharmed)
{
    struct daemon_process ballastd;
    struct peer peer;
    daemon_start(&ballastd, "");
    peer_open(&peer, ballastd.endpoint);
    uint64_t first = hash_of(&peer, 0);
    cr_assert_eq(process_wait(daemon_spawn(&ballastd)), EX_UNAVAILABLE);
    cr_assert_eq(hash_of(&peer, 0), first);
    peer_close(&peer);
    cr_assert_eq(daemon_close(&ballastd), 0);
}

Test(lifecycle, a_hangup_or_a_full_log_changes_nothing)
{
    struct daemon_process ballastd;
    struct peer peer;
    daemon_start(&ballastd, "");
    peer_open(&peer, ballastd.endpoint);
    uint64_t first = hash_of(&peer, 0);
    kill(ballastd.pid, SIGHUP);
    kill(ballastd.pid, SIGPIPE);
    kill(ballastd.pid, SIGXFSZ);
    cr_assert_eq(hash_of(&peer, 0), first);
    peer_close(&peer);
    cr_assert_eq(daemon_close(&ballastd), 0);
}

Test(lifecycle, past_steps_are_planned_again)
{
    struct daemon_process ballastd;
    struct peer peer;
    daemon_start(&ballastd, "");
    peer_open(&peer, ballastd.endpoint);
    uint64_t early = hash_of(&peer, 1), late = hash_of(&peer, 700);
    cr_assert_eq(hash_of(&peer, 1), early);
    cr_assert_eq(hash_of(&peer, 700), late);
    cr_assert_neq(early, late);
    peer_close(&peer);
    cr_assert_eq(daemon_close(&ballastd), 0);
}
