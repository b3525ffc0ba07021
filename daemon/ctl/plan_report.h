/* What a person reads of planned steps: a row each, and what they amount to. */
#ifndef BALLAST_CTL_PLAN_REPORT_H
#define BALLAST_CTL_PLAN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "ctl/human.h"
#include "ctl/output.h"
#include "ctl/table.h"
#include "plan/plan.h"
#include "simulate/tally.h"

#define PLAN_REPORT_COLUMNS 7

struct plan_report {
    const struct config *config;
    struct tally tally;
    double crossover_tokens; /* B decides every figure of balance, so every report names it */
    uint64_t first;          /* step */
    struct digest digest;    /* of the last step */
    const struct auto_thresholds *thresholds; /* how they were chosen; NULL: they were given */
    bool ended;                               /* the data has no further step */
    struct pack_fact facts[PACK_MAX_FACTS];   /* the policy's own */
    size_t fact_count;
    struct column columns[PLAN_REPORT_COLUMNS];
    struct table *table;
};

/* For steps `first` to at most `last`; `config` must outlive the report. Fini also on failure. */
int plan_report_init(struct plan_report *report, const struct config *config, uint64_t first,
                     uint64_t last, struct error *err);
void plan_report_fini(struct plan_report *report);

/* Takes a step into the sums. */
void plan_report_add(struct plan_report *report, const struct step_plan *plan);

/*
 * Takes over what planner and policy have to tell of all steps; the last thing before the summary,
 * which the planner must outlive.
 */
void plan_report_policy(struct plan_report *report, const struct planner *planner);

/* Prints the step's row at once. */
int plan_report_row(struct plan_report *report, const struct step_plan *plan, struct output *out,
                    struct error *err);

int plan_report_summary(const struct plan_report *report, struct output *out, struct error *err);

/* The summary as one JSON object. */
int plan_report_json(const struct plan_report *report, struct output *out, struct error *err);

#endif
