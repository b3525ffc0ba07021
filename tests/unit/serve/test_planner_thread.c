/*
 * The planner thread: any step asked for in any order is the step that a plain run makes, END is
 * found, and far requests neither block others nor are blocked.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

#include "serve/planner_thread.h"
#include "support/length_job.h"

#define STEPS 400
#define YAML                                                                                       \
    "seed: 9\ncontext_window: 512\nmax_sequence_length: 1024\nparallel: { dp: 2, cp: 2, "          \
    "microbatches: 2 }\npacking: { policy: wlb, outlier_thresholds: [256] }\n"

struct bench {
    struct length_job job;
    uint32_t *lengths;
    struct plan_store *store;
    struct planner_thread *thread;
    struct lineage *lineage;
    struct digest digests[STEPS]; /* of a plain run */
    uint64_t steps;               /* until END, at most STEPS */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool news;
};

static void notify(void *context)
{
    struct bench *bench = context;
    pthread_mutex_lock(&bench->lock);
    bench->news = true;
    pthread_cond_signal(&bench->changed);
    pthread_mutex_unlock(&bench->lock);
}

static void await_news(struct bench *bench, struct plan_news *news)
{
    pthread_mutex_lock(&bench->lock);
    while (!bench->news)
        pthread_cond_wait(&bench->changed, &bench->lock);
    bench->news = false;
    pthread_mutex_unlock(&bench->lock);
    plan_store_news(bench->store, news);
}

static void run_plainly(struct bench *bench)
{
    struct planner *planner;
    struct step_plan plan = { 0 };
    struct error err = { 0 };
    cr_assert_eq(planner_new(bench->job.config, bench->job.corpus, &planner, &err), 0, "%s",
                 err.text);
    while (bench->steps < STEPS && planner_step(planner, &plan, &err) == PLANNER_STEP)
        bench->digests[bench->steps++] = plan.digest;
    step_plan_fini(&plan);
    planner_free(planner);
}

static struct bench *bench_open(size_t documents, uint32_t epochs)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct error err = { 0 };
    bench->lengths = heavy_tailed_lengths(11, documents, 512);
    struct length_source source = { "a", 1, epochs, bench->lengths, documents };
    bench->job = length_job_open(YAML, &source, 1);
    pthread_mutex_init(&bench->lock, NULL);
    pthread_cond_init(&bench->changed, NULL);
    run_plainly(bench);
    cr_assert_eq(plan_store_new(4, 0, 16, &bench->store, &err), 0, "%s", err.text);
    struct planner_links links = { .store = bench->store, .notify = notify, .context = bench };
    cr_assert_eq(planner_thread_start(bench->job.config, bench->job.corpus, &links, &bench->thread,
                                      &bench->lineage, &err),
                 0, "%s", err.text);
    return bench;
}

static void bench_close(struct bench *bench)
{
    plan_store_stop(bench->store);
    lineage_free(planner_thread_join(bench->thread));
    plan_store_free(bench->store);
    length_job_close(&bench->job);
    free(bench->lengths);
    pthread_cond_destroy(&bench->changed);
    pthread_mutex_destroy(&bench->lock);
    free(bench);
}

/* Waits for a step as the loop does: wants it, collects news until it is there. */
static struct shared_plan *await_step(struct bench *bench, uint64_t step)
{
    struct shared_plan *plan = NULL;
    struct plan_news news;
    enum plan_answer answer = plan_store_get_or_want(bench->store, step, &plan);
    bool wanted = answer == PLAN_WANTED;
    while (wanted && !(plan = plan_store_peek(bench->store, step))) {
        await_news(bench, &news);
        if (news.ended)
            break;
    }
    if (wanted)
        plan_store_unwant(bench->store, step);
    return plan;
}

static void expect_step(struct bench *bench, uint64_t step)
{
    struct shared_plan *plan = await_step(bench, step);
    cr_assert_not_null(plan, "step %llu", (unsigned long long)step);
    cr_assert_eq(plan->plan.step, step);
    cr_assert(digest_equal(plan->plan.digest, bench->digests[step]), "step %llu differs",
              (unsigned long long)step);
    shared_plan_unref(plan);
}

Test(planner_thread, steps_in_any_order_are_those_of_a_plain_run, .timeout = 60)
{
    struct bench *bench = bench_open(300, 0);
    const uint64_t steps[] = { 0, 1, 2, 300, 3, 299, 301, 64, 63, 65, 128, 0, 399, 200 };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        expect_step(bench, steps[i]);
    struct plan_store_facts facts;
    plan_store_facts(bench->store, &facts);
    cr_assert_gt(facts.replanned, 0);
    bench_close(bench);
}

Test(planner_thread, a_copy_holds_what_the_planner_made, .timeout = 60)
{
    struct bench *bench = bench_open(300, 0);
    struct shared_plan *shared = await_step(bench, 5);
    const struct step_plan *plan = &shared->plan;
    cr_assert_eq(plan->microbatch_count, 4);
    uint64_t tokens = 0, rank_tokens = 0;
    for (size_t i = 0; i < plan->piece_count; i++)
        tokens += plan->pieces[i].length;
    for (uint32_t m = 0; m < plan->microbatch_count; m++)
        for (uint32_t r = 0; r < plan->rank_count; r++)
            rank_tokens += step_plan_rank(plan, m, r)->tokens;
    cr_assert_eq(tokens, plan->tokens);
    cr_assert_eq(rank_tokens, plan->tokens);
    cr_assert_gt(plan->chunk_count, 0);
    shared_plan_unref(shared);
    bench_close(bench);
}

Test(planner_thread, a_request_that_would_take_for_ever_blocks_nobody, .timeout = 60)
{
    struct bench *bench = bench_open(300, 0);
    struct shared_plan *none = NULL;
    cr_assert_eq(plan_store_get_or_want(bench->store, UINT64_C(1) << 60, &none), PLAN_WANTED);
    for (uint64_t step = 0; step < 100; step += 3)
        expect_step(bench, step);
    plan_store_unwant(bench->store, UINT64_C(1) << 60);
    expect_step(bench, 150);
    bench_close(bench);
}

Test(planner_thread, the_end_is_found_from_anywhere, .timeout = 60)
{
    struct bench *bench = bench_open(300, 1);
    cr_assert_lt(bench->steps, STEPS);
    cr_assert_null(await_step(bench, bench->steps + 1000));
    struct plan_store_facts facts;
    plan_store_facts(bench->store, &facts);
    cr_assert_eq(facts.end, bench->steps);
    expect_step(bench, bench->steps - 1);
    expect_step(bench, 0);
    bench_close(bench);
}

Test(planner_thread, reports_what_waits_and_where_sources_stand, .timeout = 60)
{
    struct bench *bench = bench_open(300, 0);
    expect_step(bench, 20);
    plan_store_request_report(bench->store);
    struct planner_report *report = NULL;
    struct plan_news news;
    while (!(report = planner_thread_take_report(bench->thread)))
        await_news(bench, &news);
    cr_assert_geq(report->step, 20);
    cr_assert_eq(report->cursor_count, 1);
    cr_assert_gt(report->cursors[0].tokens, 0);
    for (size_t i = 0; i < report->place_count; i++)
        cr_assert_leq(report->places[i].oldest, report->step);
    planner_report_free(report);
    bench_close(bench);
}
