/* A step plan as one line of JSON: what `ballastctl plan --json` and `step K` print. */
#ifndef BALLAST_PLAN_PLAN_JSON_H
#define BALLAST_PLAN_PLAN_JSON_H

#include "plan/plan.h"

/*
 * One JSON object without a newline, fields as in DESIGN section 11, and for each micro-batch
 * "loss_tokens" and "padded_tokens" too. The text is the caller's to free. EX_OSERR when out of
 * memory; *ret_text is untouched on failure.
 */
int step_plan_json(const struct step_plan *plan, const struct config *config, char **ret_text,
                   struct error *err);

#endif
