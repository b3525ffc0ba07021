/* What decides plans: the text that becomes part of the job digest. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

static char *plan_text(const char *override)
{
    const char *const overrides[] = { override, NULL };
    struct config *config = must_parse(SMALLEST, override ? overrides : NULL);
    char *text = NULL;
    struct error err = { 0 };
    cr_assert_eq(config_plan_text(config, &text, &err), 0);
    config_free(config);
    return text;
}

/* A golden text: when it changes, every job digest changes, and no run can be resumed. */
Test(config_plan_text, is_canonical)
{
    char *text = plan_text(NULL);
    cr_expect_str_eq(text, "seed=0\n"
                           "source a format=lengths weight=1 epochs=0\n"
                           "vocab_size=0\n"
                           "parallel dp=1 cp=1 microbatches=1\n"
                           "context_window=4096\n"
                           "max_sequence_length=8192\n"
                           "long_documents=split\n"
                           "last_step=drop\n"
                           "packing policy=wlb window=1 max_waiting_steps=16 thresholds=1024,2560\n"
                           "sharding strategy=adaptive tile=128 pad_to_multiple=1\n"
                           "cost crossover_tokens=1024\n");
    free(text);
}

Test(config_plan_text, changes_with_whatever_decides_plans)
{
    static const char *const deciding[] = {
        "seed=1",
        "sources.a.name=b",
        "sources.a.weight=2",
        "sources.a.epochs=1",
        "vocab_size=5",
        "parallel.dp=2",
        "parallel.cp=2",
        "parallel.microbatches=2",
        "context_window=4097",
        "max_sequence_length=8193",
        "long_documents=drop",
        "long_documents=truncate",
        "last_step=serve",
        "packing.policy=plain",
        "packing.window=2",
        "packing.outlier_thresholds=[1024]",
        "packing.outlier_thresholds=auto",
        "packing.max_waiting_steps=17",
        "sharding.strategy=per-document",
        "sharding.tile=64",
        "sharding.pad_to_multiple=2",
        "cost.crossover_tokens=1025",
        "cost={model: {layers: 2, hidden: 64, heads: 4, ffn: 128, vocab: 99, tflops: 1}}",
    };
    char *base = plan_text(NULL);
    for (size_t i = 0; i < sizeof deciding / sizeof *deciding; i++) {
        char *other = plan_text(deciding[i]);
        cr_expect_str_neq(other, base, "%s", deciding[i]);
        free(other);
    }
    free(base);
}

Test(config_plan_text, does_not_change_with_anything_else)
{
    static const char *const indifferent[] = {
        "job=other",
        "sources.a.paths=[b, c]",
        "parallel.pp=4",
        "parallel.tp=8",
        "serve={endpoint: 'tcp://127.0.0.1:1', steps_ahead: 3, gather_threads: 9, cache_bytes: 7}",
        "observe.log=json",
        "state={directory: /var/lib/x, snapshot_every: 7}",
        "packing.outlier_thresholds=[1024, 2560]",
    };
    char *base = plan_text(NULL);
    for (size_t i = 0; i < sizeof indifferent / sizeof *indifferent; i++) {
        char *other = plan_text(indifferent[i]);
        cr_expect_str_eq(other, base, "%s", indifferent[i]);
        free(other);
    }
    free(base);
}

/* parallel.tp decides plans only where the cost model takes it for its own. */
Test(config_plan_text, holds_every_figure_of_the_model)
{
    char *text = plan_text("cost={model: {layers: 2, hidden: 64, heads: 4, kv_heads: 1, ffn: 128, "
                           "vocab: 99, tp: 3, tflops: 0.5}}");
    cr_expect_not_null(strstr(text, "cost layers=2 hidden=64 heads=4 kv_heads=1 ffn=128 vocab=99 "
                                    "tp=3 tflops=0.5\n"));
    free(text);
}

/* Its search decides what is found, so its limit and the library do too; the clock does not. */
Test(config_plan_text, of_the_solver)
{
    if (!pack_policy_find("fixed-solver")) {
        struct error err = { 0 };
        const char *const overrides[] = { "packing.policy=fixed-solver", NULL };
        cr_assert_eq(must_refuse(SMALLEST, overrides, &err), EX_CONFIG);
        cr_assert(strstr(err.text, pack_policy_lacks("fixed-solver")), "%s", err.text);
        return;
    }
    char *texts[3];
    const char *const settings[] = { "packing={policy: fixed-solver}",
                                     "packing={policy: fixed-solver, solver_time_ms: 1}",
                                     "packing={policy: fixed-solver, solver_nodes: 1}" };
    for (size_t i = 0; i < 3; i++)
        texts[i] = plan_text(settings[i]);
    cr_assert(strstr(texts[0], "\nsolver library=GLPK "));
    cr_assert_str_eq(texts[0], texts[1]);
    cr_assert_str_neq(texts[0], texts[2]);
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
}
