/* The ledger as data and as text: what is written is read back, and nothing else is read. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/ledger.h"

#define DP2 "parallel={\"dp\": \"2\"}\n"
#define WINDOW "context_window=\"32\"\n"

static const struct ledger_entry reshape = { .kind = LEDGER_RESHAPE,
                                             .step = 100,
                                             .settings = (char *)(size_t)DP2 WINDOW };
static const struct ledger_entry skip = { .kind = LEDGER_SKIP, .step = 150, .last_step = 170 };

static const struct ledger_entry drop = { .kind = LEDGER_DROP,
                                          .step = 180,
                                          .source = (char *)(size_t) "web",
                                          .shard = 17,
                                          .shard_name = (char *)(size_t) "web 017.idx" };

static struct job_ledger filled(void)
{
    struct job_ledger ledger = { .job = { { 0xab, 1 } }, .settings = strdup(DP2) };
    cr_assert_eq(job_ledger_append(&ledger, &reshape, NULL), 0);
    cr_assert_eq(job_ledger_append(&ledger, &skip, NULL), 0);
    cr_assert_eq(job_ledger_append(&ledger, &drop, NULL), 0);
    return ledger;
}

static char *encode(const struct job_ledger *ledger, size_t *ret_bytes)
{
    char *text = NULL;
    cr_assert_eq(job_ledger_encode(ledger, &text, ret_bytes, NULL), 0);
    return text;
}

Test(ledger, is_a_text_that_people_can_read)
{
    struct job_ledger ledger = filled();
    size_t bytes;
    char *text = encode(&ledger, &bytes);
    static const char expected[] = "ballast ledger 1\n"
                                   "job ab010000000000000000000000000000\n"
                                   "start\n"
                                   " parallel={\"dp\": \"2\"}\n"
                                   "reshape 100\n"
                                   " parallel={\"dp\": \"2\"}\n"
                                   " context_window=\"32\"\n"
                                   "skip 150 170\n"
                                   "drop 180 web 17 web 017.idx\n"
                                   "sum 8f7ed70dde48328c00aac563d3c6b5c8\n";
    cr_expect_str_eq(text, expected);
    free(text);
    job_ledger_fini(&ledger);
}

Test(ledger, is_read_back)
{
    struct job_ledger ledger = filled(), again = { 0 };
    struct error err = { 0 };
    size_t bytes;
    char *text = encode(&ledger, &bytes);
    cr_assert_eq(job_ledger_decode(text, bytes, &again, &err), 0, "%s", err.text);
    cr_assert(digest_equal(again.job, ledger.job));
    cr_assert_str_eq(again.settings, DP2);
    cr_assert_eq(again.count, 3);
    cr_assert_eq(again.entries[0].kind, LEDGER_RESHAPE);
    cr_assert_eq(again.entries[0].step, 100);
    cr_assert_str_eq(again.entries[0].settings, DP2 WINDOW);
    cr_assert_eq(again.entries[1].kind, LEDGER_SKIP);
    cr_assert_eq(again.entries[1].last_step, 170);
    cr_assert_eq(again.entries[2].kind, LEDGER_DROP);
    cr_assert_eq(again.entries[2].step, 180);
    cr_assert_str_eq(again.entries[2].source, "web");
    cr_assert_eq(again.entries[2].shard, 17);
    cr_assert_str_eq(again.entries[2].shard_name, "web 017.idx");
    job_ledger_fini(&again);
    job_ledger_fini(&ledger);
    free(text);
}

Test(ledger, no_byte_can_change_and_none_can_go)
{
    struct job_ledger ledger = filled();
    size_t bytes;
    char *text = encode(&ledger, &bytes);
    for (size_t i = 0; i < bytes; i++) {
        struct job_ledger again = { 0 };
        struct error err = { 0 };
        text[i] ^= 1;
        cr_assert_eq(job_ledger_decode(text, bytes, &again, &err), EX_DATAERR, "byte %zu", i);
        cr_assert(err.text[0] && !strpbrk(err.text, "\n\r"));
        text[i] ^= 1;
        job_ledger_fini(&again);
        cr_assert_eq(job_ledger_decode(text, i, &again, NULL), EX_DATAERR, "%zu bytes", i);
        job_ledger_fini(&again);
    }
    free(text);
    job_ledger_fini(&ledger);
}

/* A body with the right checksum that is still no ledger; `why` is part of what is said. */
static void expect_bad(const char *body, const char *why)
{
    char text[512], sum[DIGEST_TEXT_BYTES];
    struct digest digest = digest_chain((struct digest){ 0 }, body, strlen(body));
    int bytes = snprintf(text, sizeof text, "%ssum %s\n", body, digest_text(digest, sum));
    struct job_ledger ledger = { 0 };
    struct error err = { 0 };
    cr_assert_eq(job_ledger_decode(text, (size_t)bytes, &ledger, &err), EX_DATAERR, "%s", body);
    cr_assert(strstr(err.text, why), "%s: %s", body, err.text);
    job_ledger_fini(&ledger);
}

#define HEAD "ballast ledger 1\njob ab010000000000000000000000000000\nstart\n"

Test(ledger, what_is_wrong_is_said_with_its_line)
{
    expect_bad("hello\n", "line 1: it does not begin");
    expect_bad("ballast ledger 2\n", "another version");
    expect_bad("ballast ledger 1\njob ab\nstart\n", "line 2: expected the job");
    expect_bad(HEAD "hop 1\n", "line 4: expected reshape, skip, drop or sum");
    expect_bad(HEAD "skip 1\n", "line 4: expected skip FIRST LAST");
    expect_bad(HEAD "skip 01 2\n", "expected skip FIRST LAST");
    expect_bad(HEAD "skip 99999999999999999999 2\n", "expected skip FIRST LAST");
    expect_bad(HEAD "skip 5 4\n", "expected the first one first");
    expect_bad(HEAD "skip 5 6\nskip 4 4\n", "line 6: step 4 lies before step 5");
    expect_bad(HEAD "drop 5 web 1\n", "line 4: expected drop STEP SOURCE NUMBER NAME");
    expect_bad(HEAD "drop 5 web 1 \n", "expected drop STEP SOURCE NUMBER NAME");
    expect_bad(HEAD "drop 5  1 a\n", "expected drop STEP SOURCE NUMBER NAME");
    expect_bad(HEAD "drop 5 web 4294967296 a\n", "expected drop STEP SOURCE");
    expect_bad(HEAD "drop 5 web 1 a\x1b\n", "expected drop STEP SOURCE NUMBER NAME");
    expect_bad(HEAD "reshape 0\n", "the configuration itself");
    expect_bad(HEAD "reshape 7\n dp\n", "expected a setting");
    expect_bad(HEAD "reshape 7\n =2\n", "expected a setting");
    expect_bad(HEAD "reshape 7\n dp=\x1b\n", "expected a setting");
}

Test(ledger, tells_what_it_goes_on_from)
{
    static const unsigned char state[] = { 0x00, 0x7f, 0xff };
    struct job_ledger ledger = { .job = { { 0xab } }, .settings = strdup(DP2) }, again = { 0 };
    struct ledger_entry early = { .kind = LEDGER_SKIP, .step = 79, .last_step = 79 };
    struct error err = { 0 };
    size_t bytes;
    ledger.origin =
        (struct ledger_origin){ 80, { { 1 } }, { { 2 } }, malloc(sizeof state), sizeof state };
    memcpy(ledger.origin.state, state, sizeof state);
    cr_assert_eq(job_ledger_append(&ledger, &early, &err), EX_USAGE);
    cr_assert(strstr(err.text, "step 79 lies before step 80"), "%s", err.text);
    char *text = encode(&ledger, &bytes);
    cr_assert(strstr(text, "accept 80 01000000000000000000000000000000 "
                           "02000000000000000000000000000000 007fff\n"),
              "%s", text);
    cr_assert_eq(job_ledger_decode(text, bytes, &again, &err), 0, "%s", err.text);
    cr_assert_eq(again.origin.step, 80);
    cr_assert_eq(again.origin.digest.bytes[0], 2);
    cr_assert_eq(again.origin.state_bytes, sizeof state);
    cr_assert_arr_eq(again.origin.state, state, sizeof state);
    free(text);
    job_ledger_fini(&again);
    job_ledger_fini(&ledger);
}

#define ACCEPT(step, state)                                                                        \
    HEAD "accept " step                                                                            \
         " 01000000000000000000000000000000 02000000000000000000000000000000 " state "\n"

Test(ledger, an_origin_must_be_whole)
{
    expect_bad(ACCEPT("0", "00"), "expected accept STEP JOB DIGEST SNAPSHOT");
    expect_bad(ACCEPT("7", ""), "a snapshot in hexadecimal digits");
    expect_bad(ACCEPT("7", "000"), "a snapshot in hexadecimal digits");
    expect_bad(ACCEPT("7", "0g"), "a snapshot in hexadecimal digits");
    expect_bad(HEAD "accept 7 01 02 03\n", "expected accept STEP JOB DIGEST SNAPSHOT");
}

Test(ledger, grows_at_its_end_only)
{
    struct job_ledger ledger = filled();
    struct error err = { 0 };
    struct ledger_entry early = { .kind = LEDGER_SKIP, .step = 179, .last_step = 179 };
    struct ledger_entry again = drop, long_one = { .kind = LEDGER_SKIP, .step = 180 };
    cr_assert_eq(job_ledger_append(&ledger, &early, &err), EX_USAGE);
    cr_assert(strstr(err.text, "step 179 lies before step 180"), "%s", err.text);
    long_one.last_step = 180 + LEDGER_MOST_SKIPPED;
    cr_assert_eq(job_ledger_append(&ledger, &long_one, &err), EX_USAGE);
    cr_assert(strstr(err.text, "use several, each from step 180"), "%s", err.text);
    cr_assert_eq(ledger.count, 3);
    cr_assert_eq(job_ledger_append(&ledger, &again, &err), 0, "the same step again: %s", err.text);
    cr_assert_eq(job_ledger_before(&ledger, 100), 0);
    cr_assert_eq(job_ledger_before(&ledger, 101), 1);
    cr_assert_eq(job_ledger_before(&ledger, 151), 2);
    cr_assert_eq(job_ledger_before(&ledger, 181), 4);
    job_ledger_fini(&ledger);
}

Test(ledger, takes_what_cannot_wait_in_between)
{
    struct job_ledger ledger = filled();
    struct ledger_entry now = drop;
    now.step = 150;
    cr_assert_eq(job_ledger_insert(&ledger, &now, NULL), 0);
    now.step = 1;
    cr_assert_eq(job_ledger_insert(&ledger, &now, NULL), 0);
    now.step = 200;
    cr_assert_eq(job_ledger_insert(&ledger, &now, NULL), 0);
    static const uint64_t steps[] = { 1, 100, 150, 150, 180, 200 };
    cr_assert_eq(ledger.count, 6);
    for (size_t i = 0; i < ledger.count; i++)
        cr_assert_eq(ledger.entries[i].step, steps[i]);
    cr_assert_eq(ledger.entries[2].kind, LEDGER_SKIP, "behind the others of its step");
    job_ledger_fini(&ledger);
}

Test(ledger, a_shard_has_names_that_fit_in_a_line)
{
    struct job_ledger ledger = filled();
    struct ledger_entry odd = drop;
    odd.shard_name = (char *)(size_t) "a\nskip 1 2";
    cr_assert_eq(job_ledger_append(&ledger, &odd, NULL), EX_USAGE);
    odd.shard_name = NULL;
    cr_assert_eq(job_ledger_append(&ledger, &odd, NULL), EX_USAGE);
    odd = drop;
    odd.source = (char *)(size_t) "we b";
    cr_assert_eq(job_ledger_insert(&ledger, &odd, NULL), EX_USAGE);
    cr_assert_eq(ledger.count, 3);
    job_ledger_fini(&ledger);
}

Test(ledger, has_a_bound)
{
    struct job_ledger ledger = { .settings = strdup("") };
    struct ledger_entry one = { .kind = LEDGER_SKIP, .step = 5, .last_step = 5 };
    for (int i = 0; i < LEDGER_MOST_ENTRIES; i++)
        cr_assert_eq(job_ledger_append(&ledger, &one, NULL), 0);
    cr_assert_eq(job_ledger_append(&ledger, &one, NULL), EX_USAGE);
    job_ledger_fini(&ledger);
}

Test(ledger, knows_what_it_drops)
{
    struct job_ledger ledger = filled();
    struct ledger_entry later = drop;
    uint64_t step = 0;
    later.step++;
    cr_assert_eq(job_ledger_append(&ledger, &later, NULL), 0);
    cr_assert(job_ledger_drops(&ledger, "web", 17, &step));
    cr_assert_eq(step, 180, "the first time counts");
    cr_assert_not(job_ledger_drops(&ledger, "web", 16, &step));
    cr_assert_not(job_ledger_drops(&ledger, "code", 17, &step));
    job_ledger_fini(&ledger);
}
