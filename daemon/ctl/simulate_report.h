/* What `ballastctl simulate` prints of variants: for scripts, and for people. */
#ifndef BALLAST_CTL_SIMULATE_REPORT_H
#define BALLAST_CTL_SIMULATE_REPORT_H

#include "base/error.h"
#include "corpus/corpus.h"
#include "ctl/output.h"
#include "ctl/simulate_variants.h"
#include "simulate/recommend.h"

/* One JSON object a variant (DESIGN section 11). EX_IOERR, EX_OSERR. */
int simulate_report_json(const struct variants *variants, struct output *out, struct error *err);

/* What the job is, a row a variant, and where each variant's time goes. */
int simulate_report_text(const struct variants *variants, const struct corpus *corpus,
                         struct output *out, struct error *err);

/* One JSON object {"recommend": {...}}. */
int simulate_recommend_json(const struct recommendation *recommendation, const struct config *job,
                            struct output *out, struct error *err);

/* The fragment of configuration, and why. */
int simulate_recommend_text(const struct recommendation *recommendation, const struct config *job,
                            struct output *out, struct error *err);

#endif
