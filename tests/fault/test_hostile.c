/* Peers that lie, babble and hang: refused by name where there is one, and nobody else notices. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/permutation.h"
#include "fault/daemon_process.h"
#include "fault/peer.h"
#include "fault/raw_peer.h"

#define STEPS 40
#define HALF_OPEN 50
#define TROUBLEMAKERS 2
#define FAR_STEP (UINT64_C(1) << 50) /* nobody lives to see it planned */

static struct daemon_process ballastd;
static struct peer peer;

static void start(void)
{
    daemon_start(&ballastd, "");
    peer_open(&peer, ballastd.endpoint);
}

/* Exit status 0 says more than it seems: a sanitizer's report would change it. */
static void finish(void)
{
    peer_close(&peer);
    cr_assert_eq(daemon_close(&ballastd), 0);
}

TestSuite(hostile, .init = start, .fini = finish);

/* ---- requests that are refused ---- */

static void expect_status(uint32_t expected, const char *what)
{
    struct answer answer;
    cr_assert(peer_receive(&peer, &answer, PEER_PATIENCE_MS), "%s: no answer", what);
    cr_assert_eq(answer_status(&answer), expected, "%s: got %s", what,
                 wire_status_name(answer_status(&answer)));
    cr_assert_eq(answer.frame_count, 0);
    answer_free(&answer);
}

static void send_bytes(const void *bytes, size_t count)
{
    peer_send_raw(&peer, &bytes, &count, 1);
}

Test(hostile, frames_that_are_no_requests_are_refused)
{
    static const char *const frames[] = {
        "", "x", "BLST", "BLST\1\3\0", "BLST\1\3\0\0\xff\xff", "XXXX\1\1\0\0"
    };
    static const size_t bytes[] = { 0, 1, 4, 7, 10, 8 };
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        send_bytes(frames[i], bytes[i]);
        expect_status(WIRE_BAD_REQUEST, frames[i]);
    }
    send_bytes("BLST\2\3\0\0", 8);
    expect_status(WIRE_BAD_VERSION, "version 2");
    send_bytes("BLST\1\xc8\0\0", 8);
    expect_status(WIRE_BAD_REQUEST, "type 200");
}

Test(hostile, answers_and_commands_are_no_requests_of_a_trainer)
{
    Ballast__V1__Refusal refusal = BALLAST__V1__REFUSAL__INIT;
    Ballast__V1__Admin admin = BALLAST__V1__ADMIN__INIT;
    char command[] = "drain";
    admin.command = command;
    peer_send(&peer, &refusal.base);
    expect_status(WIRE_BAD_REQUEST, "REFUSAL");
    peer_send(&peer, &admin.base);
    expect_status(WIRE_BAD_REQUEST, "ADMIN");
}

Test(hostile, a_request_in_several_frames_is_refused)
{
    const void *frames[] = { "", "BLST\1\3\0\0", "more" };
    const size_t bytes[] = { 0, 8, 4 };
    peer_send_raw(&peer, frames, bytes, 2);
    expect_status(WIRE_BAD_REQUEST, "a delimiter before it");
    peer_send_raw(&peer, frames + 1, bytes + 1, 2);
    expect_status(WIRE_BAD_REQUEST, "a frame behind it");
}

static void ask(uint64_t step, uint32_t microbatch, uint32_t rank, uint32_t parts,
                uint32_t deadline_ms)
{
    struct question question = { step, microbatch, rank, parts, deadline_ms };
    peer_ask(&peer, &question);
}

Test(hostile, what_the_job_does_not_have_is_out_of_range)
{
    ask(0, DAEMON_MICROBATCHES, 0, PEER_ALL_PARTS, 1000);
    expect_status(WIRE_OUT_OF_RANGE, "micro-batch");
    ask(0, 0, DAEMON_CP, PEER_ALL_PARTS, 1000);
    expect_status(WIRE_OUT_OF_RANGE, "rank");
    ask(0, UINT32_MAX, UINT32_MAX, PEER_ALL_PARTS, 1000);
    expect_status(WIRE_OUT_OF_RANGE, "both");
}

Test(hostile, another_job_is_refused)
{
    uint8_t digest[16] = { 1 };
    Ballast__V1__GetBatch get = BALLAST__V1__GET_BATCH__INIT;
    get.job_digest.data = digest;
    get.job_digest.len = sizeof digest;
    peer_send(&peer, &get.base);
    expect_status(WIRE_WRONG_JOB, "digest");
    Ballast__V1__Hello hello = BALLAST__V1__HELLO__INIT;
    Ballast__V1__Rank rank = BALLAST__V1__RANK__INIT;
    char job[] = "other";
    hello.job = job;
    hello.rank = &rank;
    peer_send(&peer, &hello.base);
    expect_status(WIRE_WRONG_JOB, "name");
}

Test(hostile, a_deadline_is_kept_and_none_is_needed)
{
    ask(FAR_STEP, 0, 0, PEER_ALL_PARTS, 20);
    expect_status(WIRE_TIMEOUT, "20 ms");
    ask(FAR_STEP, 0, 0, PEER_ALL_PARTS, 0);
    expect_status(WIRE_TIMEOUT, "at once");
}

Test(hostile, one_peer_may_not_have_too_many_waiting)
{
    for (int i = 0; i < 70; i++)
        ask(FAR_STEP, 0, 0, PEER_ALL_PARTS, PEER_PATIENCE_MS);
    for (int i = 0; i < 6; i++)
        expect_status(WIRE_BUSY, "over the bound");
    struct peer other;
    peer_open(&other, ballastd.endpoint);
    peer_step_hash(&other, 3, DAEMON_MICROBATCHES, DAEMON_CP);
    peer_close(&other);
}

Test(hostile, the_same_request_twice_gets_two_equal_answers)
{
    struct question question = { 2, 1, 1, PEER_ALL_PARTS, PEER_PATIENCE_MS };
    struct answer first, second;
    peer_ask(&peer, &question);
    peer_get(&peer, &question, &first);
    cr_assert(peer_receive(&peer, &second, PEER_PATIENCE_MS));
    cr_assert_eq(answer_hash(&first), answer_hash(&second));
    answer_free(&first);
    answer_free(&second);
}

Test(hostile, a_frame_over_the_limit_ends_the_connection)
{
    peer_step_hash(&peer, 0, DAEMON_MICROBATCHES, DAEMON_CP); /* it listens by now */
    static const unsigned char long_frame[] = { 2, 0, 0, 0, 1, 0x80, 0, 0, 0 }; /* 6 GiB */
    int connection = raw_connect(ballastd.port);
    cr_assert_geq(connection, 0);
    raw_handshake(connection);
    raw_send(connection, long_frame, sizeof long_frame);
    cr_assert(raw_await_hangup(connection, PEER_PATIENCE_MS));
    close(connection);
    peer_step_hash(&peer, 1, DAEMON_MICROBATCHES, DAEMON_CP);
}

/* ---- a good client among bad ones ---- */

static atomic_bool over;
static atomic_uint attacks;

static size_t random_bytes(unsigned char *bytes, size_t most, uint64_t seed)
{
    size_t count = 1 + mix_keys(seed, 1) % most;
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)mix_keys(seed, i + 2);
    return count;
}

/* Noise instead of a greeting, noise instead of frames, and sizes that lie. */
static void attack_by_tcp(uint64_t seed)
{
    unsigned char bytes[4096];
    int connection = raw_connect(ballastd.port);
    if (connection < 0)
        return;
    if (seed % 3)
        raw_handshake(connection);
    if (seed % 3 == 2)
        raw_send(connection, "\2\0\0\0\7\0\0\0\0", 9);
    raw_send(connection, bytes, random_bytes(bytes, sizeof bytes, seed));
    close(connection);
}

static void attack_by_messages(uint64_t seed)
{
    unsigned char bytes[600] = "BLST\1\3";
    struct peer bad;
    peer_open(&bad, ballastd.endpoint);
    for (uint64_t i = 0; i < 10; i++) {
        size_t head = i % 3 ? 8 : 0;
        size_t count = head + random_bytes(bytes + head, sizeof bytes - head, seed + i);
        const void *frames[] = { bytes, bytes };
        const size_t sizes[] = { count, count };
        peer_send_raw(&bad, frames, sizes, 1 + i % 2);
    }
    struct answer answer;
    if (peer_receive(&bad, &answer, 1000))
        answer_free(&answer);
    peer_close(&bad);
}

static void *make_trouble(void *argument)
{
    uint64_t seed = (uint64_t)(uintptr_t)argument;
    while (!atomic_load(&over)) {
        seed = mix_keys(seed, 99);
        if (seed % 5 < 3)
            attack_by_tcp(seed);
        else
            attack_by_messages(seed);
        atomic_fetch_add(&attacks, 1);
    }
    return NULL;
}

Test(hostile, a_good_client_gets_the_same_data_among_bad_ones)
{
    uint64_t alone[STEPS];
    for (uint64_t step = 0; step < STEPS; step++)
        alone[step] = peer_step_hash(&peer, step, DAEMON_MICROBATCHES, DAEMON_CP);

    int half_open[HALF_OPEN];
    for (int i = 0; i < HALF_OPEN; i++)
        half_open[i] = raw_connect(ballastd.port);
    pthread_t threads[TROUBLEMAKERS];
    for (uintptr_t i = 0; i < TROUBLEMAKERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, make_trouble, (void *)(i + 1)), 0);

    for (int round = 0; round < 3 || atomic_load(&attacks) < 20; round++)
        for (uint64_t step = 0; step < STEPS; step++)
            cr_assert_eq(peer_step_hash(&peer, step, DAEMON_MICROBATCHES, DAEMON_CP), alone[step],
                         "step %llu differs", (unsigned long long)step);

    atomic_store(&over, true);
    for (int i = 0; i < TROUBLEMAKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < HALF_OPEN; i++)
        close(half_open[i]);
    cr_assert_eq(kill(ballastd.pid, 0), 0, "the daemon lives");
}
