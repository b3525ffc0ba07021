/* From a packed step to its plan: CP shards of every micro-batch, token counts, digest. */
#ifndef BALLAST_PLAN_ASSEMBLE_H
#define BALLAST_PLAN_ASSEMBLE_H

#include "plan/plan.h"

/*
 * Fills `plan` for `step` from `packing`; `previous` is the digest of the step before, `shards`
 * working memory. EX_OSERR when out of memory. The plan's `waiting` is the caller's to fill.
 */
int assemble_plan(uint64_t step, const struct packing *packing, uint32_t microbatches,
                  const struct cp_options *sharding, struct digest previous,
                  struct cp_shards *shards, struct step_plan *plan, struct error *err);

#endif
