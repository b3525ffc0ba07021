#include <stdlib.h>

#include "base/wide.h"
#include "plan/plan.h"

void step_plan_fini(struct step_plan *plan)
{
    free(plan->microbatches);
    free(plan->pieces);
    free(plan->chunks);
    free(plan->ranks);
    *plan = (struct step_plan){ 0 };
}

double step_plan_imbalance(const struct step_plan *plan)
{
    workload most = 0;
    wide sum = 0;
    for (uint32_t m = 0; m < plan->microbatch_count; m++) {
        workload work = plan->microbatches[m].workload;
        sum += work;
        if (work > most)
            most = work;
    }
    return sum ? (double)most * plan->microbatch_count / (double)sum : 1.0;
}
