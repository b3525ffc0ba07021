#include <criterion/criterion.h>
#include <string.h>

#include "cost/cp_time.h"
#include "kernels/tiles/tile_pairs.h"
#include "sample_table.h"

#define TILE 128u

/* One whole document on one rank, in tiles, over its workload. */
static double over_workload(const struct cost_model *model, uint32_t tokens)
{
    uint64_t pairs = tile_pairs(TILE, 0, tokens);
    return (double)cp_time(model, pairs, tokens) / (double)cost_piece(model, tokens);
}

static struct cost_model crossover_model(void)
{
    struct cost_options options = { .crossover_tokens = 24576 };
    struct cost_model model;
    cr_assert_eq(cost_model_init(&model, &options, NULL), 0);
    return model;
}

Test(cp_time, approaches_the_workload_of_long_documents)
{
    struct cost_model model = crossover_model();
    cr_expect_float_eq(over_workload(&model, 1u << 20), 1.0, 0.001);
    /* 64 + 64 columns more a row, of 131072 / 2 */
    cr_expect_float_eq(over_workload(&model, 131072), 1 + 0.0016, 0.001);
    cr_expect_gt(over_workload(&model, 128), 1.0);
}

Test(cp_time, counts_half_the_square_and_every_padded_token)
{
    struct cost_model model = crossover_model();
    uint64_t half_square = UINT64_C(65536) * 65536 / 2;
    cr_expect_float_eq((double)cost_pairs(&model, half_square),
                       (double)cost_attention(&model, 65536), 1.0);
    cr_expect_eq(cp_time(&model, 0, 100), cost_linear(&model, 100));
}

static struct cost_model table_model(uint32_t cp)
{
    struct cost_options options = { 0 };
    struct cost_model model;
    struct error err = { 0 };
    int code = cost_table_parse("t.csv", SAMPLE_TABLE, strlen(SAMPLE_TABLE), 2, cp,
                                &options.measured, &err);
    cr_assert_eq(code, 0, "%s", err.text);
    cr_assert_eq(cost_model_init(&model, &options, &err), 0, "%s", err.text);
    return model;
}

/* At the longest document's rate. */
Test(cp_time, of_a_table)
{
    struct cost_model model = table_model(1);
    cr_expect_eq(cost_pairs(&model, 4096 * 4096 / 2), cost_attention(&model, 4096));
}

/* Rows of cp 2 are already one rank's: half the pairs and tokens of a document take as long. */
Test(cp_time, of_a_table_of_one_rank_of_two)
{
    struct cost_model model = table_model(2);
    cr_expect_eq(cost_pairs(&model, 2048 * 2048 / 4), cost_attention(&model, 2048));
    cr_expect_eq(cp_time(&model, 2048 * 2048 / 4, 1024), cost_piece(&model, 2048));
}
