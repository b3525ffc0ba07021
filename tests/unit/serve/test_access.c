/*
 * Who is let in and who may do what; the handler of keys on its inproc socket, asked as ZeroMQ asks
 * it and as nothing should.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "serve/access.h"
#include "serve/zap.h"
#include "support/temp_dir.h"

#define GIVE_UP_MS 30000
#define RANK "0000100001000010000100001000010000100001" /* eight times the number 1 */
#define BOSS "0000200002000020000200002000020000200002"
#define LATE "0000300003000030000300003000030000300003"
#define NOBODY "0000400004000040000400004000040000400004"
#define LIST                                                                                       \
    RANK " trainer rank 2027-01-31\n" BOSS " operator boss\n" LATE " trainer late 2020-01-01\n"
#define NOW INT64_C(1800000000) /* 2027-01-15 */

struct place {
    struct temp_dir dir;
    char key[TEMP_PATH_BYTES], clients[TEMP_PATH_BYTES];
    struct access_options options;
    struct access access;
};

static void write_list(const struct place *place, const char *lines)
{
    file_write(place->clients, lines, strlen(lines));
}

static void place_make(struct place *place)
{
    char text[128], secret[WIRE_KEY_BYTES], public[WIRE_KEY_BYTES];
    struct error err = { 0 };
    place->dir = temp_dir_make();
    temp_path(&place->dir, "server.key", place->key);
    temp_path(&place->dir, "clients", place->clients);
    cr_assert_eq(zmq_curve_keypair(public, secret), 0);
    snprintf(text, sizeof text, "secret %s\n", secret);
    file_write(place->key, text, strlen(text));
    cr_assert_eq(chmod(place->key, 0600), 0);
    write_list(place, LIST);
    place->options =
        (struct access_options){ .curve_secret_key = place->key, .clients = place->clients };
    cr_assert_eq(access_open(&place->options, &place->access, &err), 0, "%s", err.text);
}

static void place_remove(struct place *place)
{
    access_close(&place->access);
    temp_dir_remove(&place->dir);
}

Test(access, without_a_key_everything_is_open)
{
    struct access_options options = { .allow_plaintext = true };
    struct access access;
    struct error err = { 0 };
    const char *name = "?";
    cr_assert_eq(access_open(&options, &access, &err), 0);
    cr_expect_not(access.secured);
    cr_expect(access_permits(&access, false, NULL, ROLE_OPERATOR, &name));
    cr_expect_str_eq(name, "");
    cr_expect_not(access_permits(&access, true, NULL, ROLE_OPERATOR, &name), "fails closed");
    access_close(&access);
}

Test(access, lets_in_who_is_listed_until_the_last_second)
{
    struct place place;
    place_make(&place);
    struct access *access = &place.access;
    cr_expect(access->secured);
    cr_assert_not_null(access_admit(access, RANK, NOW));
    cr_expect_str_eq(access_admit(access, BOSS, NOW)->name, "boss");
    cr_expect_not_null(access_admit(access, RANK, 1801439999));
    cr_expect_eq(access_news(access), 0);
    cr_expect_null(access_admit(access, RANK, 1801440000));
    cr_expect_null(access_admit(access, LATE, NOW));
    cr_expect_null(access_admit(access, NOBODY, NOW));
    cr_expect_null(access_admit(access, "", NOW));
    cr_expect_eq(access->denied[DENIED_EXPIRED], 2);
    cr_expect_eq(access->denied[DENIED_UNKNOWN_KEY], 2);
    cr_expect_eq(access_news(access), 4);
    cr_expect_eq(access_news(access), 0);
    place_remove(&place);
}

Test(access, a_role_permits_what_its_handlers_say)
{
    struct place place;
    place_make(&place);
    struct access *access = &place.access;
    const char *name = "?";
    cr_expect(access_permits(access, true, RANK, ROLE_TRAINER, &name));
    cr_expect_str_eq(name, "rank");
    cr_expect(access_permits(access, true, RANK, ROLE_TRAINER | ROLE_OPERATOR, &name));
    cr_expect_not(access_permits(access, true, RANK, ROLE_OPERATOR, &name));
    cr_expect_not(access_permits(access, true, BOSS, ROLE_TRAINER, &name));
    cr_expect_not(access_permits(access, true, BOSS, 0, &name), "a handler that names no role");
    cr_expect_eq(access->denied[DENIED_ROLE], 3);
    cr_expect_not(access_permits(access, true, NOBODY, ROLE_TRAINER, &name));
    cr_expect_not(access_permits(access, true, NULL, ROLE_TRAINER, &name));
    cr_expect_eq(access->denied[DENIED_REMOVED], 2);
    cr_expect_str_eq(name, "rank", "left alone");
    place_remove(&place);
}

Test(access, a_bad_new_list_leaves_the_old_one)
{
    struct place place;
    place_make(&place);
    struct error err = { 0 };
    write_list(&place, RANK " trainer rank\n" BOSS " boss\n");
    cr_expect_eq(access_reload(&place.access, &err), EX_CONFIG);
    cr_expect_not_null(strstr(err.text, ":2: "), "%s", err.text);
    cr_expect_not_null(access_admit(&place.access, BOSS, NOW));
    write_list(&place, NOBODY " trainer new\n");
    cr_expect_eq(access_reload(&place.access, &err), 0);
    cr_expect_null(access_admit(&place.access, RANK, NOW));
    cr_expect_not_null(access_admit(&place.access, NOBODY, NOW));
    place_remove(&place);
}

static void expect_refusal(struct place *place, int code, const char *words)
{
    struct access access = { 0 };
    struct error err = { 0 };
    cr_expect_eq(access_open(&place->options, &access, &err), code);
    cr_expect_not_null(strstr(err.text, words), "%s", err.text);
    cr_expect_null(access.list.clients, "left alone");
}

Test(access, does_not_start_with_half_of_what_it_needs)
{
    struct place place;
    place_make(&place);
    chmod(place.key, 0640);
    expect_refusal(&place, EX_CONFIG, "access.curve_secret_key: ");
    chmod(place.key, 0600);
    write_list(&place, "");
    expect_refusal(&place, EX_CONFIG, "access.clients: ");
    unlink(place.clients);
    expect_refusal(&place, EX_NOINPUT, "access.clients: ");
    unlink(place.key);
    expect_refusal(&place, EX_NOINPUT, "access.curve_secret_key: ");
    place_remove(&place);
}

Test(access, every_denial_has_its_own_name)
{
    for (int i = 0; i < ACCESS_DENIALS; i++) {
        cr_assert_eq(strncmp(access_denial_name((enum access_denial)i), "denied_", 7), 0);
        for (int j = 0; j < i; j++)
            cr_expect_str_neq(access_denial_name((enum access_denial)i),
                              access_denial_name((enum access_denial)j));
    }
}

/* ---- the handler ---- */

struct bench {
    struct place place;
    uv_loop_t loop;
    uv_timer_t give_up;
    bool gave_up;
    void *context, *asker;
    struct zap zap;
};

static void on_give_up(uv_timer_t *timer)
{
    ((struct bench *)timer->data)->gave_up = true;
}

static void bench_open(struct bench *bench)
{
    struct error err = { 0 };
    memset(bench, 0, sizeof *bench);
    place_make(&bench->place);
    cr_assert_eq(uv_loop_init(&bench->loop), 0);
    uv_timer_init(&bench->loop, &bench->give_up);
    bench->give_up.data = bench;
    uv_timer_start(&bench->give_up, on_give_up, GIVE_UP_MS, 0);
    bench->context = zmq_ctx_new();
    cr_assert_eq(zap_open(&bench->zap, bench->context, &bench->loop, &bench->place.access, &err), 0,
                 "%s", err.text);
    bench->asker = zmq_socket(bench->context, ZMQ_DEALER);
    cr_assert_eq(zmq_connect(bench->asker, "inproc://zeromq.zap.01"), 0);
}

static void bench_close(struct bench *bench)
{
    zap_stop(&bench->zap);
    uv_close((uv_handle_t *)&bench->give_up, NULL);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&bench->loop), 0, "a handle was left open");
    zmq_close(bench->asker);
    zap_close(&bench->zap);
    zmq_ctx_term(bench->context);
    place_remove(&bench->place);
}

struct question {
    const char *version, *mechanism;
    const char *key; /* Z85 */
    size_t key_bytes;
    int frames; /* sent in all, the delimiter included */
};

static void ask(struct bench *bench, const struct question *question)
{
    unsigned char raw[64] = { 0 };
    zmq_z85_decode(raw, question->key);
    const char *texts[] = { "",        question->version,   "17", "ballast", "127.0.0.1",
                            "routing", question->mechanism, "",   "",        "" };
    for (int i = 0; i < question->frames; i++) {
        int more = i + 1 < question->frames ? ZMQ_SNDMORE : 0;
        if (i == 7)
            zmq_send(bench->asker, raw, question->key_bytes, more);
        else
            zmq_send(bench->asker, texts[i], strlen(texts[i]), more);
    }
}

/* Status and User-Id of the next answer; empty texts when there is none. */
static void answer(struct bench *bench, char status[8], char user[64])
{
    char frames[8][64] = { "" };
    int count = 0, more = 1;
    while (!bench->gave_up && zmq_recv(bench->asker, frames[0], 64, ZMQ_DONTWAIT) < 0)
        uv_run(&bench->loop, UV_RUN_ONCE);
    cr_assert_not(bench->gave_up);
    size_t bytes = sizeof more;
    for (count = 1; zmq_getsockopt(bench->asker, ZMQ_RCVMORE, &more, &bytes) == 0 && more;
         count++) {
        cr_assert_lt(count, 8);
        int got = zmq_recv(bench->asker, frames[count], 63, 0);
        cr_assert_geq(got, 0);
        frames[count][got] = '\0';
    }
    cr_assert_eq(count, 7, "delimiter, version, sequence, status, text, user, metadata");
    cr_assert_str_eq(frames[1], "1.0");
    cr_assert_str_eq(frames[2], "17");
    memcpy(status, frames[3], 8);
    memcpy(user, frames[5], 64);
}

static void expect_answer(struct bench *bench, const struct question *question, const char *status,
                          const char *user)
{
    char found_status[8], found_user[64];
    ask(bench, question);
    answer(bench, found_status, found_user);
    cr_expect_str_eq(found_status, status);
    cr_expect_str_eq(found_user, user);
}

Test(zap, answers_by_the_list)
{
    struct bench bench;
    bench_open(&bench);
    expect_answer(&bench, &(struct question){ "1.0", "CURVE", BOSS, 32, 8 }, "200", BOSS);
    expect_answer(&bench, &(struct question){ "1.0", "CURVE", NOBODY, 32, 8 }, "400", "");
    expect_answer(&bench, &(struct question){ "1.0", "CURVE", LATE, 32, 8 }, "400", "");
    cr_expect_eq(bench.place.access.denied[DENIED_UNKNOWN_KEY], 1);
    cr_expect_eq(bench.place.access.denied[DENIED_EXPIRED], 1);
    bench_close(&bench);
}

Test(zap, refuses_what_it_cannot_decide)
{
    static const struct question questions[] = {
        { "1.1", "CURVE", BOSS, 32, 8 }, { "", "CURVE", BOSS, 32, 8 },
        { "1.0", "NULL", BOSS, 32, 8 },  { "1.0", "PLAIN", BOSS, 32, 8 },
        { "1.0", "", BOSS, 32, 8 },      { "1.0", "CURVE", BOSS, 31, 8 },
        { "1.0", "CURVE", BOSS, 33, 8 }, { "1.0", "CURVE", BOSS, 0, 8 },
        { "1.0", "CURVE", BOSS, 32, 7 }, { "1.0", "CURVE", BOSS, 32, 9 },
        { "1.0", "CURVE", BOSS, 32, 4 }, { "1.0", "CURVE", BOSS, 32, 10 },
    };
    struct bench bench;
    bench_open(&bench);
    size_t count = sizeof questions / sizeof *questions;
    for (size_t i = 0; i < count; i++)
        expect_answer(&bench, &questions[i], "400", "");
    cr_expect_eq(bench.place.access.denied[DENIED_UNDECIDABLE], count);
    /* Too short to be answered; the next is answered nevertheless. */
    ask(&bench, &(struct question){ "1.0", "CURVE", BOSS, 32, 1 });
    ask(&bench, &(struct question){ "1.0", "CURVE", BOSS, 32, 2 });
    expect_answer(&bench, &(struct question){ "1.0", "CURVE", BOSS, 32, 8 }, "200", BOSS);
    bench_close(&bench);
}

Test(zap, a_second_handler_cannot_take_its_place)
{
    struct bench bench;
    bench_open(&bench);
    void *other = zmq_socket(bench.context, ZMQ_REP);
    cr_expect_neq(zmq_bind(other, "inproc://zeromq.zap.01"), 0);
    zmq_close(other);
    bench_close(&bench);
}
