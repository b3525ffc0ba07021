#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/recommend.h"
#include "simulate/run.h"
#include "support/length_job.h"

#define JOB                                                                                        \
    "context_window: 4096\nmax_sequence_length: 8192\n"                                            \
    "parallel: { dp: 2, pp: 2, cp: 2, microbatches: 2 }\npacking: { policy: wlb }\n"

static struct length_job open_job(const char *yaml, uint32_t epochs, size_t count)
{
    uint32_t *lengths = heavy_tailed_lengths(3, count, 4096);
    struct length_source source = {
        .name = "web", .weight = 1, .epochs = epochs, .lengths = lengths, .count = count
    };
    struct length_job job = length_job_open(yaml, &source, 1);
    free(lengths);
    return job;
}

static uint64_t ticks;

/* A clock that goes on by a millisecond each time it is asked. */
static uint64_t tick(void)
{
    return ticks += 1000000;
}

static void note_steps(void *context, uint64_t steps_done)
{
    uint64_t *last = context;
    cr_assert_eq(steps_done, *last + 1);
    *last = steps_done;
}

Test(run, counts_only_what_follows_the_warm_up)
{
    struct length_job job = open_job(JOB, 0, 2000);
    uint64_t last = 0;
    struct simulate_options options = {
        .steps = 30, .now_ns = tick, .progress = note_steps, .context = &last
    };
    struct simulation found;
    struct tally right = { 0 };
    cr_assert_eq(simulate_run(job.config, job.corpus, &options, &found, NULL), 0);

    struct planner *planner;
    struct step_plan plan = { 0 };
    cr_assert_eq(planner_new(job.config, job.corpus, &planner, NULL), 0);
    while (planner_next_step(planner) < 40) {
        cr_assert_eq(planner_step(planner, &plan, NULL), PLANNER_STEP);
        if (plan.step >= 10)
            tally_add(&right, &plan);
    }
    cr_assert_eq(memcmp(&found.tally, &right, sizeof right), 0);
    cr_assert_eq(last, 40);
    cr_assert_eq(found.imbalance.count, 30);
    cr_assert_float_eq(series_mean(&found.imbalance), tally_imbalance(&right), 1e-12);
    cr_assert_float_eq(series_mean(&found.step_time) * 30, found.levels.dp, 1e-3);
    cr_assert_eq(found.drawn.count, 30 * 4);
    cr_assert_not(found.ended);
    /* The clock is asked around the step, and around packing within: 3 and 1 ticks. */
    cr_assert_float_eq(series_mean(&found.pack_us), 1000, 1e-9);
    cr_assert_float_eq(found.seconds, 30 * 0.003, 1e-9);
    cr_assert_float_eq(simulation_documents_per_second(&found), (double)found.documents / 0.09,
                       1e-6);
    step_plan_fini(&plan);
    planner_free(planner);
    simulation_fini(&found);
    length_job_close(&job);
}

Test(run, without_a_clock_every_duration_is_nothing)
{
    struct length_job job = open_job(JOB, 0, 500);
    struct simulate_options options = { .steps = 5 };
    struct simulation found;
    cr_assert_eq(simulate_run(job.config, job.corpus, &options, &found, NULL), 0);
    cr_assert_eq(simulation_documents_per_second(&found), 0);
    cr_assert_eq(series_mean(&found.pack_us), 0);
    cr_assert_float_eq(simulation_speedup(&found, &found), 1, 1e-12);
    cr_assert(found.documents > 0);
    simulation_fini(&found);
    length_job_close(&job);
}

Test(run, ends_with_the_data)
{
    struct length_job job = open_job(JOB, 1, 2000);
    struct simulate_options options = { .steps = UINT64_MAX };
    struct simulation found;
    cr_assert_eq(simulate_run(job.config, job.corpus, &options, &found, NULL), 0);
    cr_assert(found.ended);
    cr_assert(found.tally.steps > 20);
    simulation_fini(&found);
    length_job_close(&job);
}

Test(run, refuses_data_that_ends_within_the_warm_up)
{
    struct length_job job = open_job(JOB, 1, 20);
    struct simulate_options options = { .steps = 5 };
    struct simulation untouched = { .documents = 42 };
    struct error err = { 0 };
    cr_assert_eq(simulate_run(job.config, job.corpus, &options, &untouched, &err), EX_USAGE);
    cr_assert_not_null(strstr(err.text, "warm up"), "%s", err.text);
    cr_assert_eq(untouched.documents, 42);
    length_job_close(&job);
}

static struct config *merge(const struct length_job *job, const char *fragment)
{
    char *text = NULL, *rest = NULL, *merged = NULL;
    size_t bytes = 0;
    cr_assert_eq(config_print(job->config, &text, NULL), 0);
    FILE *file = open_memstream(&merged, &bytes);
    /* Sections that the fragment gives replace those of the job. */
    bool skips = false;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (*line != ' ' && *line != '-')
            skips = !strncmp(line, "packing:", 8) || !strncmp(line, "sharding:", 9) ||
                    !strncmp(line, "max_sequence_length:", 20);
        if (!skips)
            fprintf(file, "%s\n", line);
    }
    fputs(fragment, file);
    fclose(file);
    free(text);
    struct config *config = NULL;
    struct error err = { 0 };
    cr_assert_eq(config_parse("merged", merged, bytes, NULL, 0, &config, &err), 0, "%s\n%s",
                 err.text, merged);
    free(merged);
    return config;
}

Test(recommend, is_the_best_within_the_cap_and_can_be_configured)
{
    struct length_job job = open_job(JOB, 0, 3000);
    struct recommendation found;
    cr_assert_eq(recommend(job.config, job.corpus, NULL, NULL, &found, NULL), 0);
    const struct trial *best = &found.trials[found.best];
    for (size_t i = 0; i < found.count; i++) {
        cr_assert_leq(found.trials[i].setting.max_sequence_length, 8192);
        cr_assert_leq(found.trials[i].gain, best->gain * 1.0051);
    }
    cr_assert(best->gain > 1);
    cr_assert_eq(found.count, found.packings + CP_STRATEGY_COUNT - 1);

    char *yaml = NULL, *why = NULL;
    cr_assert_eq(recommendation_yaml(&found, &yaml, NULL), 0);
    cr_assert_eq(recommendation_why(&found, job.config, &why, NULL), 0);
    struct config *config = merge(&job, yaml);
    cr_assert_str_eq(config->packing.policy, best->setting.policy);
    cr_assert_eq(config->max_sequence_length, best->setting.max_sequence_length);
    cr_assert_eq(config->sharding.strategy, best->setting.sharding);
    cr_assert_not_null(strstr(why, best->setting.policy), "%s", why);

    /* The same again, to the letter. */
    struct recommendation again;
    cr_assert_eq(recommend(job.config, job.corpus, NULL, NULL, &again, NULL), 0);
    char *same = NULL;
    cr_assert_eq(recommendation_why(&again, job.config, &same, NULL), 0);
    cr_assert_str_eq(same, why);
    free(same);
    free(yaml);
    free(why);
    config_free(config);
    recommendation_fini(&again);
    recommendation_fini(&found);
    length_job_close(&job);
}

Test(recommend, equal_lengths_need_nothing_but_plain)
{
    uint32_t lengths[64];
    for (size_t i = 0; i < 64; i++)
        lengths[i] = 1024;
    struct length_source source = { .name = "web", .weight = 1, .lengths = lengths, .count = 64 };
    struct length_job job = length_job_open(
        "context_window: 4096\nmax_sequence_length: 8192\nparallel: { microbatches: 4 }\n", &source,
        1);
    struct recommendation found;
    char *why = NULL;
    cr_assert_eq(recommend(job.config, job.corpus, NULL, NULL, &found, NULL), 0);
    cr_assert_str_eq(found.trials[found.best].setting.policy, "plain");
    cr_assert_eq(found.trials[found.best].setting.max_sequence_length, 4096);
    cr_assert_eq(found.count, found.packings, "one CP rank has no shardings to choose from");
    cr_assert_eq(recommendation_why(&found, job.config, &why, NULL), 0);
    cr_assert_not_null(strstr(why, "one CP rank"), "%s", why);
    free(why);
    recommendation_fini(&found);
    length_job_close(&job);
}
