#include <criterion/criterion.h>
#include <stdlib.h>

#include "plan/plan_json.h"
#include "support/length_job.h"

/* DESIGN section 11, field by field; each line worked out by hand. */
#define EXPECTED                                                                                   \
    "{\"step\":0,\"digest\":\"%s\",\"tokens\":8,\"loss_tokens\":6,\"imbalance\":1.0,"              \
    "\"microbatches\":["                                                                           \
    "{\"index\":0,\"dp\":0,\"slot\":0,\"tokens\":4,\"loss_tokens\":3,\"padded_tokens\":2,"         \
    "\"workload\":4104,"                                                                           \
    "\"sharding\":\"per-document\",\"pieces\":["                                                   \
    "{\"source\":\"s\",\"document\":1,\"offset\":0,\"length\":2,\"arrived\":0},"                   \
    "{\"source\":\"s\",\"document\":0,\"offset\":0,\"length\":2,\"arrived\":0}],\"ranks\":["       \
    "{\"tokens\":2,\"attention\":49152,\"chunks\":[[0,0,1],[1,1,1]]},"                             \
    "{\"tokens\":2,\"attention\":49152,\"chunks\":[[0,1,1],[1,0,1]]}]},"                           \
    "{\"index\":1,\"dp\":0,\"slot\":1,\"tokens\":4,\"loss_tokens\":3,\"padded_tokens\":2,"         \
    "\"workload\":4104,"                                                                           \
    "\"sharding\":\"per-document\",\"pieces\":["                                                   \
    "{\"source\":\"s\",\"document\":0,\"offset\":2,\"length\":2,\"arrived\":0},"                   \
    "{\"source\":\"s\",\"document\":0,\"offset\":4,\"length\":2,\"arrived\":0}],\"ranks\":["       \
    "{\"tokens\":2,\"attention\":49152,\"chunks\":[[0,0,1],[1,1,1]]},"                             \
    "{\"tokens\":2,\"attention\":49152,\"chunks\":[[0,1,1],[1,0,1]]}]}],"                          \
    "\"waiting\":{\"pieces\":0,\"tokens\":0,\"oldest\":1}}"

Test(plan_json, exact_text)
{
    uint32_t lengths[] = { 6, 2 };
    struct length_source source = { "s", 1, 1, lengths, 2 };
    struct length_job job = length_job_open(
        "seed: 1\ncontext_window: 4\nlast_step: serve\nparallel: { cp: 2, microbatches: 2 }\n"
        "packing: { policy: plain }\nsharding: { strategy: per-document }",
        &source, 1);
    struct planner *planner;
    struct step_plan plan = { 0 };
    char *text = NULL, expected[2048], digest[DIGEST_TEXT_BYTES];
    cr_assert_eq(planner_new(job.config, job.corpus, &planner, NULL), 0);
    cr_assert_eq(planner_step(planner, &plan, NULL), PLANNER_STEP);
    cr_assert_eq(step_plan_json(&plan, job.config, &text, NULL), 0);
    snprintf(expected, sizeof expected, EXPECTED, digest_text(plan.digest, digest));
    cr_assert_str_eq(text, expected);
    free(text);
    step_plan_fini(&plan);
    planner_free(planner);
    length_job_close(&job);
}
