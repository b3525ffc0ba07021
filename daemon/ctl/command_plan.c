/* ballastctl plan: plans steps as the daemon would, without one. */
#include <inttypes.h>
#include <stdlib.h>

#include "config/config.h"
#include "corpus/corpus.h"
#include "ctl/arguments.h"
#include "ctl/bad_shards.h"
#include "ctl/plan_report.h"
#include "ctl/progress.h"
#include "plan/plan.h"
#include "plan/plan_json.h"
#include "simulate/tally.h"
#include "state/job_corpus.h"
#include "state/job_open.h"

#define DEFAULT_STEPS 10

/* Everything that planning needs, opened in this order and closed in the reverse. */
struct planning {
    struct config *config;
    struct corpus *corpus;
    struct open_job job;
    struct step_plan plan;
    struct progress progress;
    uint64_t first, last; /* steps to print, both included */
    bool json, summary;
};

/* The directory is there already, or it has no ledger to give. */
static int open_job(struct planning *planning, const char *state, struct error *err)
{
    struct state_directory directory = STATE_DIRECTORY_CLOSED(state);
    int code = state ? state_directory_open_existing(&directory, err) : 0;
    if (!code)
        code = job_corpus_open(planning->config, &directory, progress_corpus, &planning->progress,
                               &planning->corpus, err);
    if (!code)
        bad_shards_tell(planning->corpus, &planning->progress);
    if (!code)
        code = job_open(planning->config, planning->corpus, &directory, &planning->job, err);
    state_directory_close(&directory);
    return code;
}

static int planning_open(struct planning *planning, const struct arguments *arguments,
                         struct error *err)
{
    int code = config_load(argument_text(arguments, OPTION_CONFIG, ""), arguments->overrides,
                           arguments->override_count, &planning->config, err);
    if (code)
        return code;
    return open_job(planning, argument_text(arguments, OPTION_STATE, NULL), err);
}

static void planning_close(struct planning *planning)
{
    step_plan_fini(&planning->plan);
    job_close(&planning->job);
    corpus_close(planning->corpus);
    config_free(planning->config);
}

static int print_json(const struct planning *planning, struct output *out, struct error *err)
{
    char *text = NULL;
    const struct config *config = history_config(planning->job.history, planning->plan.step);
    int code = step_plan_json(&planning->plan, config, &text, err);
    if (code)
        return code;
    output_print(out, "%s\n", text);
    free(text);
    return output_flush(out, err);
}

/* Shows where planning is, unless the steps that appear on the same terminal show it already. */
static void show_progress(struct planning *planning, const struct output *out)
{
    uint64_t step = planning->plan.step;
    bool rows_show = out->terminal && !planning->summary && step >= planning->first;
    if (!rows_show && progress_due(&planning->progress))
        progress_show(&planning->progress, "planning: step %" PRIu64 " of %" PRIu64 " to %" PRIu64,
                      step, planning->first, planning->last);
}

static int print_step(struct planning *planning, struct plan_report *report, struct output *out,
                      struct error *err)
{
    if (planning->plan.step < planning->first)
        return 0;
    plan_report_add(report, &planning->plan);
    if (planning->summary)
        return 0;
    if (out->terminal)
        progress_clear(&planning->progress);
    if (planning->json)
        return print_json(planning, out, err);
    return plan_report_row(report, &planning->plan, out, err);
}

/* Plans up to the last step or the end of data. */
static int plan_steps(struct planning *planning, struct plan_report *report, struct output *out,
                      struct error *err)
{
    while (planner_next_step(planning->job.planner) <= planning->last) {
        switch (planner_step(planning->job.planner, &planning->plan, err)) {
        case PLANNER_ERROR:
            return err->code;
        case PLANNER_END:
            report->ended = true;
            return 0;
        case PLANNER_STEP:
            break;
        }
        show_progress(planning, out);
        int code = print_step(planning, report, out, err);
        if (code)
            return code;
    }
    return 0;
}

static int print_summary(const struct planning *planning, const struct plan_report *report,
                         struct output *out, struct error *err)
{
    if (planning->json)
        return planning->summary ? plan_report_json(report, out, err) : 0;
    if (!planning->summary)
        output_print(out, "\n");
    return plan_report_summary(report, out, err);
}

static int plan_and_report(struct planning *planning, struct output *out, struct error *err)
{
    struct plan_report report;
    int code = plan_report_init(&report, planning->config, planning->first, planning->last, err);
    if (!code)
        code = plan_steps(planning, &report, out, err);
    progress_clear(&planning->progress);
    if (!code && !report.tally.steps)
        code = error_set(err, EX_USAGE,
                         "the data ends before step %" PRIu64 ": the job has %" PRIu64 " steps",
                         planning->first, planner_next_step(planning->job.planner));
    plan_report_policy(&report, planning->job.planner);
    if (!code)
        code = print_summary(planning, &report, out, err);
    plan_report_fini(&report);
    return code;
}

int run_plan(const struct arguments *arguments, struct output *out, struct error *err)
{
    uint64_t first = argument_number(arguments, OPTION_FROM, 0);
    uint64_t steps = argument_number(arguments, OPTION_STEPS, DEFAULT_STEPS);
    if (steps == 0)
        return error_set(err, EX_USAGE, "--steps: found 0, expected at least 1");
    struct planning planning = {
        .first = first,
        .last = steps - 1 > UINT64_MAX - 1 - first ? UINT64_MAX - 1 : first + steps - 1,
        .json = argument_given(arguments, OPTION_JSON),
        .summary = argument_given(arguments, OPTION_SUMMARY),
    };
    progress_init(&planning.progress);
    int code = planning_open(&planning, arguments, err);
    if (!code && planner_next_step(planning.job.planner) > planning.first)
        code = error_set(err, EX_USAGE,
                         "--from: the job changed its corpus at step %" PRIu64
                         "; what was before cannot be planned any more",
                         planner_next_step(planning.job.planner));
    if (!code)
        code = plan_and_report(&planning, out, err);
    progress_clear(&planning.progress);
    planning_close(&planning);
    return code;
}
