/* What ballast_open accepts, and the texts of statuses. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client_helper.h"

static ballast_status attempt(ballast_options options)
{
    ballast_client *client = NULL;
    ballast_status status = ballast_open(&options, &client);
    cr_assert_eq(client != NULL, status == BALLAST_OK);
    ballast_close(client);
    return status;
}

static ballast_options good(void)
{
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = "tcp://127.0.0.1:1";
    return options;
}

Test(client_options, endpoints)
{
    static const struct {
        const char *endpoints;
        ballast_status status;
    } cases[] = {
        { "tcp://127.0.0.1:1", BALLAST_OK },
        { "tcp://localhost:1,tcp://127.0.0.1:2", BALLAST_OK },
        { "tcp://127.0.0.1:1 , ipc:///tmp/nobody", BALLAST_OK },
        { "tcp://[::1]:5755", BALLAST_OK },
        { NULL, BALLAST_INVALID },
        { "", BALLAST_INVALID },
        { ",", BALLAST_INVALID },
        { "tcp://127.0.0.1:1,", BALLAST_INVALID },
        { "127.0.0.1:1", BALLAST_INVALID },
        { "tcp://127.0.0.1", BALLAST_INVALID },
        { "tcp://127.0.0.1:", BALLAST_INVALID },
        { "tcp://127.0.0.1:port", BALLAST_INVALID },
        { "tcp://:1", BALLAST_INVALID },
        { "ipc://", BALLAST_INVALID },
        { "udp://127.0.0.1:1", BALLAST_INVALID },
        { "ipc:///tmp/nobody\n", BALLAST_INVALID },
        { "ipc:///tmp/no\033[31mbody", BALLAST_INVALID },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ballast_options options = good();
        options.endpoints = cases[i].endpoints;
        cr_assert_eq(attempt(options), cases[i].status, "%s", cases[i].endpoints);
    }
}

Test(client_options, ranges)
{
    cr_assert_eq(attempt(good()), BALLAST_OK);
    ballast_options options = good();
    options.prefetch = 64;
    cr_assert_eq(attempt(options), BALLAST_OK);
    options.prefetch = 65;
    cr_assert_eq(attempt(options), BALLAST_INVALID);
    options = good();
    options.retry_ms = 9;
    cr_assert_eq(attempt(options), BALLAST_INVALID);
    options.retry_ms = 600000;
    cr_assert_eq(attempt(options), BALLAST_OK);
    options.retry_ms = 600001;
    cr_assert_eq(attempt(options), BALLAST_INVALID);
    options = good();
    options.first_step = UINT64_MAX;
    cr_assert_eq(attempt(options), BALLAST_INVALID);
    options = good();
    options.job = "a name of more than sixty-three bytes is a name that no daemon has";
    cr_assert_eq(attempt(options), BALLAST_INVALID);
    options = good();
    ballast_allocator half = { .allocate = NULL };
    options.allocator = &half;
    cr_assert_eq(attempt(options), BALLAST_INVALID);
}

Test(client_options, size_and_version)
{
    ballast_options options = good();
    options.size = 0;
    cr_assert_eq(attempt(options), BALLAST_INVALID);
    options.size = sizeof options - 1;
    cr_assert_eq(attempt(options), BALLAST_INVALID);
    options.size = sizeof options + 64;
    cr_assert_eq(attempt(options), BALLAST_OK, "a later header with fields that we do not know");
    options = good();
    options.version = 2;
    cr_assert_eq(attempt(options), BALLAST_INVALID);
    cr_assert_eq(ballast_open(NULL, NULL), BALLAST_INVALID);
}

/* What a program passes that was built with the header before keys, or end_step, came. */
Test(client_options, earlier_sizes_are_still_taken)
{
    ballast_options options = good();
    options.end_step = UINT64_MAX / 2;
    options.size = offsetof(ballast_options, end_step);
    cr_assert_eq(attempt(options), BALLAST_OK);
    memset(&options.server_key, 0xff, sizeof options - offsetof(ballast_options, server_key));
    options.size = offsetof(ballast_options, server_key);
    cr_assert_eq(attempt(options), BALLAST_OK, "and what lies behind it is not looked at");
    options.size--;
    cr_assert_eq(attempt(options), BALLAST_INVALID);
    options.size += 2;
    cr_assert_eq(attempt(options), BALLAST_INVALID);
}

/* A pair, from the specification of Z85 and CURVE's own tests. */
#define SERVER_KEY "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define SECRET_KEY "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"

static ballast_options keyed(const char *server_key, const char *secret_key)
{
    ballast_options options = good();
    options.server_key = server_key;
    options.secret_key = secret_key;
    return options;
}

Test(client_options, keys)
{
    cr_assert_eq(attempt(keyed(SERVER_KEY, SECRET_KEY)), BALLAST_OK);
    cr_assert_eq(attempt(keyed(SERVER_KEY, NULL)), BALLAST_INVALID);
    cr_assert_eq(attempt(keyed(NULL, SECRET_KEY)), BALLAST_INVALID);
    cr_assert_eq(attempt(keyed("", SECRET_KEY)), BALLAST_INVALID);
    cr_assert_eq(attempt(keyed(SERVER_KEY, SECRET_KEY "x")), BALLAST_INVALID);
    cr_assert_eq(attempt(keyed(SERVER_KEY, "short")), BALLAST_INVALID);
    ballast_options options = keyed(SERVER_KEY, SECRET_KEY);
    options.server_key_file = "/nowhere/server.pub";
    cr_assert_eq(attempt(options), BALLAST_INVALID, "one of the two ways");
    options.server_key = NULL;
    cr_assert_eq(attempt(options), BALLAST_SYSTEM);
}

static void write_key(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    cr_assert_eq(chmod(path, mode), 0);
}

Test(client_options, key_files)
{
    char folder[] = "/tmp/ballast-keys-XXXXXX", server[64], secret[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(server, sizeof server, "%s/server.pub", folder);
    snprintf(secret, sizeof secret, "%s/rank.key", folder);
    write_key(server, "public " SERVER_KEY "\n", 0644);
    write_key(secret, "# mine\nsecret " SECRET_KEY "\n", 0600);
    ballast_options options = good();
    options.server_key_file = server;
    options.secret_key_file = secret;
    cr_expect_eq(attempt(options), BALLAST_OK);
    chmod(secret, 0640);
    cr_expect_eq(attempt(options), BALLAST_INVALID, "others may read it");
    options.secret_key_file = server;
    cr_expect_eq(attempt(options), BALLAST_INVALID, "the other half");
    unlink(server);
    unlink(secret);
    rmdir(folder);
}

Test(client_options, every_status_has_a_text)
{
    const char *unknown = ballast_status_text((ballast_status)99);
    for (int status = BALLAST_OK; status <= BALLAST_DENIED; status++)
        cr_assert_str_neq(ballast_status_text((ballast_status)status), unknown);
    for (int status = BALLAST_INVALID; status <= BALLAST_SYSTEM; status++)
        cr_assert_str_neq(ballast_status_text((ballast_status)status), unknown);
    cr_assert_str_neq(ballast_status_text((ballast_status)-1), "");
}

Test(client_options, null_is_accepted_where_it_says_so)
{
    ballast_close(NULL);
    ballast_batch_free(NULL);
    ballast_client *client = open_with(&(ballast_options){
        .size = sizeof(ballast_options), .version = 1, .endpoints = "tcp://127.0.0.1:1" });
    cr_assert_str_eq(ballast_message(client), "");
    ballast_close(client);
}

/* Few descriptors or none: a status, where ZeroMQ alone would abort the process. */
Test(client_options, descriptors_run_out)
{
    int next = dup(0);
    cr_assert_geq(next, 0);
    close(next);
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    bool refused = false, opened = false;
    for (int spare = 0; spare <= 24; spare++) {
        limit.rlim_cur = (rlim_t)(next + spare);
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        ballast_status status = attempt(good());
        cr_assert(status == BALLAST_OK || status == BALLAST_SYSTEM);
        opened = opened || status == BALLAST_OK;
        refused = refused || status == BALLAST_SYSTEM;
    }
    cr_assert(opened);
    cr_assert(refused);
}
