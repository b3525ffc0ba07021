/* Snapshots: what is written is read back, a planner goes on from it, and no damage gets through.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "state/snapshot.h"
#include "support/length_job.h"

#define WINDOW 512
#define YAML                                                                                       \
    "seed: 3\ncontext_window: 512\nmax_sequence_length: 1024\nparallel: { dp: 1, cp: 1, "          \
    "microbatches: 2 }\npacking: { policy: %s }\n"

struct bench {
    struct length_job job;
    uint32_t *lengths;
    struct planner *planner;
    struct step_plan plan;
};

static struct bench bench_open(const char *policy)
{
    char yaml[256];
    snprintf(yaml, sizeof yaml, YAML, policy);
    struct bench bench = { .lengths = heavy_tailed_lengths(5, 400, 700) };
    struct length_source source = { "a", 1, 0, bench.lengths, 400 };
    struct error err = { 0 };
    bench.job = length_job_open(yaml, &source, 1);
    cr_assert_eq(planner_new(bench.job.config, bench.job.corpus, &bench.planner, &err), 0, "%s",
                 err.text);
    return bench;
}

static void bench_close(struct bench *bench)
{
    step_plan_fini(&bench->plan);
    planner_free(bench->planner);
    length_job_close(&bench->job);
    free(bench->lengths);
}

static void run_to(struct bench *bench, uint64_t step)
{
    struct error err = { 0 };
    while (planner_next_step(bench->planner) < step)
        cr_assert_eq(planner_step(bench->planner, &bench->plan, &err), PLANNER_STEP, "%s",
                     err.text);
}

static unsigned char *encode(const struct bench *bench, size_t *ret_count)
{
    struct planner_state state = { 0 };
    struct error err = { 0 };
    void *bytes = NULL;
    cr_assert_eq(planner_save(bench->planner, &state, &err), 0);
    cr_assert_eq(
        snapshot_encode(&state, planner_job_digest(bench->planner), &bytes, ret_count, &err), 0);
    planner_state_fini(&state);
    return bytes;
}

/* A planner that goes on from the bytes plans what the first would have. */
static void expect_continuation(const char *policy)
{
    struct bench bench = bench_open(policy);
    struct planner_state state = { 0 };
    struct digest job;
    struct error err = { 0 };
    size_t count;
    run_to(&bench, 77);
    unsigned char *bytes = encode(&bench, &count);
    run_to(&bench, 200);
    struct digest expected = bench.plan.digest;
    cr_assert_eq(snapshot_decode(bytes, count, &state, &job, &err), 0, "%s", err.text);
    cr_assert(digest_equal(job, planner_job_digest(bench.planner)));
    cr_assert_eq(state.next_step, 77);
    cr_assert_eq(snapshot_fits(&state, bench.job.corpus, WINDOW, &err), 0, "%s", err.text);
    cr_assert_eq(planner_restore(bench.planner, &state, &err), 0, "%s", err.text);
    run_to(&bench, 200);
    cr_assert(digest_equal(bench.plan.digest, expected), "%s", policy);
    planner_state_fini(&state);
    free(bytes);
    bench_close(&bench);
}

Test(snapshot, a_planner_goes_on_from_it)
{
    expect_continuation("plain");
    expect_continuation("fixed-greedy");
    expect_continuation("wlb");
    expect_continuation("adaptive");
}

Test(snapshot, the_bytes_are_those_of_version_2)
{
    struct source_cursor cursor = { .epoch = 1, .position = 2, .offset = 3, .documents = 4 };
    struct waiting_piece waiting = { .piece = { 9, 8, 7, 6, 0, 1 }, .place = 5 };
    struct planner_state state = { .next_step = 0x1122334455667788,
                                   .ended = true,
                                   .cursors = &cursor,
                                   .cursor_count = 1,
                                   .waiting = &waiting,
                                   .waiting_count = 1 };
    struct digest job = { { 0xaa } };
    void *bytes;
    size_t count;
    cr_assert_eq(snapshot_encode(&state, job, &bytes, &count, NULL), 0);
    const unsigned char *at = bytes;
    cr_assert_eq(count, 88 + 72 + 40 + 16);
    cr_assert_arr_eq(at, "BLSTSNAP\2\0\0\0\1\0\0\0\xaa\0", 18);
    cr_assert_arr_eq(at + 32, "\x88\x77\x66\x55\x44\x33\x22\x11", 8);
    cr_assert_eq(at[88], 1);
    cr_assert_eq(at[160], 9);
    free(bytes);
}

Test(snapshot, no_byte_can_change_and_none_can_go)
{
    struct bench bench = bench_open("wlb");
    struct planner_state state = { 0 };
    struct digest job;
    size_t count;
    run_to(&bench, 30);
    unsigned char *bytes = encode(&bench, &count);
    for (size_t i = 0; i < count; i++) {
        struct error err = { 0 };
        bytes[i] ^= 0x40;
        cr_assert_eq(snapshot_decode(bytes, count, &state, &job, &err), EX_DATAERR, "byte %zu", i);
        cr_assert(err.text[0]);
        bytes[i] ^= 0x40;
        cr_assert_eq(snapshot_decode(bytes, i, &state, &job, NULL), EX_DATAERR, "%zu bytes", i);
    }
    cr_assert_eq(snapshot_decode(bytes, count, &state, &job, NULL), 0);
    planner_state_fini(&state);
    free(bytes);
    bench_close(&bench);
}

Test(snapshot, what_no_planner_of_the_corpus_can_hold_does_not_fit)
{
    struct bench bench = bench_open("wlb");
    struct planner_state state = { 0 };
    struct error err = { 0 };
    run_to(&bench, 30);
    cr_assert_eq(planner_save(bench.planner, &state, &err), 0);
    cr_assert_gt(state.waiting_count, 0);
    cr_assert_eq(snapshot_fits(&state, bench.job.corpus, WINDOW, &err), 0, "%s", err.text);
    struct piece *piece = &state.waiting[0].piece, good = *piece;
    const struct piece bad[] = {
        { good.document, good.offset, 0, good.length, 1, 0 },
        { 400, good.offset, 0, good.length, 0, 0 },
        { good.document, UINT64_MAX, 0, good.length, 0, 0 },
        { good.document, good.offset, 0, WINDOW + 1, 0, 0 },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        *piece = bad[i];
        cr_assert_eq(snapshot_fits(&state, bench.job.corpus, WINDOW, &err), EX_DATAERR, "%zu", i);
    }
    *piece = good;
    state.cursors[0].position = 401;
    cr_assert_eq(snapshot_fits(&state, bench.job.corpus, WINDOW, &err), EX_DATAERR);
    state.cursors[0].position = 0;
    state.cursors[0].offset = 1;
    cr_assert_eq(snapshot_fits(&state, bench.job.corpus, WINDOW, &err), EX_DATAERR);
    state.cursor_count = 0;
    cr_assert_eq(snapshot_fits(&state, bench.job.corpus, WINDOW, &err), EX_DATAERR);
    planner_state_fini(&state);
    bench_close(&bench);
}
