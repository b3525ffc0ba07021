/* Whether a job comes out right on its ranks. */
#ifndef BALLAST_TESTS_KERNELS_CP_RIGHT_H
#define BALLAST_TESTS_KERNELS_CP_RIGHT_H

#include "clean.h"
#include "job.h"

/* A kernel may be so many times as wrong as a plain implementation in low precision. */
#define FACTOR 2.0

static inline void cr_assert_right(struct job *job, uint32_t seed)
{
    struct job_results results, exact, rounded;
    struct job_rank ranks[JOB_MOST_RANKS];
    cr_assert(job_init(job, seed));
    cr_assert(job_results_init(job, &results));
    cr_assert(job_results_init(job, &exact));
    cr_assert(job_results_init(job, &rounded));
    cr_assert(job_reference(job, false, &exact) && job_reference(job, true, &rounded));
    job_run(job, &results, ranks);
    for (uint32_t i = 0; i < job->ranks; i++) {
        cr_assert_eq(ranks[i].run, BALLAST_ATTENTION_OK, "rank %u: %s: %s", i, ranks[i].error.text,
                     emulation_fault_text());
        cr_assert(ranks[i].padding_is_zero, "rank %u", i);
    }
    const char *wrong = job_difference(job, &results, &exact, &rounded, FACTOR);
    cr_assert_null(wrong, "%s, CP %u, variant %d, type %d, %u/%u heads of %u: %s",
                   cp_strategy_name(job->strategy), job->ranks, (int)job->variant, (int)job->type,
                   job->heads, job->kv_heads, job->head_dim, wrong);
    job_results_fini(&results);
    job_results_fini(&exact);
    job_results_fini(&rounded);
    job_fini(job);
    cr_assert_clean();
}

#endif
