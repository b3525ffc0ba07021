/*
 * A cost table of any bytes, for a job of tp 2 and cp 2. What is accepted must never fall with the
 * length, pass through its points and have a crossover; what is refused must give one line.
 */
#include <stdlib.h>
#include <string.h>

#include "cost/cost.h"
#include "fuzz/fuzz.h"

static void expect_one_line(const struct error *err)
{
    if (err->code != EX_CONFIG || err->text[0] == '\0' || strpbrk(err->text, "\r\n\x1b"))
        abort();
}

static void expect_monotone(const struct cost_model *model)
{
    workload before = 0;
    for (uint64_t tokens = 1; tokens <= model->table.longest; tokens += 1 + tokens / 7) {
        workload after = cost_piece(model, (uint32_t)tokens);
        if (after < before)
            abort();
        before = after;
    }
}

static void expect_points(const struct cost_model *model)
{
    const struct cost_curve *curve = &model->table.attention;
    for (uint32_t i = 0; i < curve->count; i++) {
        const struct cost_knot *knot = &curve->knots[i];
        if (cost_attention(model, knot->tokens) != knot->at)
            abort();
        if (i > 0 && cost_attention(model, knot->tokens - 1) > knot->at)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct cost_options options = { 0 };
    struct cost_model model;
    struct error err = { 0 };
    if (cost_table_parse("fuzz", (const char *)bytes, count, 2, 2, &options.measured, &err)) {
        expect_one_line(&err);
        return 0;
    }
    if (cost_model_init(&model, &options, &err))
        abort();
    if (!(model.crossover_tokens >= 0 && model.crossover_tokens <= 0x1p40) || model.linear == 0)
        abort();
    expect_points(&model);
    expect_monotone(&model);
    cost_fits(&model, COST_MAX_TOKENS, COST_MAX_TOKENS);
    return 0;
}
