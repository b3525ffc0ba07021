/* What a job is, for a person who wants to know in what two jobs differ. */
#ifndef BALLAST_PLAN_JOB_TEXT_H
#define BALLAST_PLAN_JOB_TEXT_H

#include "base/error.h"
#include "corpus/corpus.h"

/*
 * Lines of "generation=...", the text of the configuration (config_plan_text), and a line of each
 * source as the corpus holds it. The text is the caller's to free. EX_OSERR.
 */
int job_text_new(const char *generation, const char *plan_text, const struct corpus *corpus,
                 char **ret_text, struct error *err);

#endif
