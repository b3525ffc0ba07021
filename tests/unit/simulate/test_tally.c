#include <criterion/criterion.h>

#include "simulate/tally.h"

/* Two micro-batches over two CP ranks, all figures small enough to check by hand. */
struct fixture {
    struct piece pieces[3];
    struct plan_microbatch microbatches[2];
    struct cp_rank ranks[4];
    struct step_plan plan;
};

static void fill(struct fixture *fixture, uint64_t step, workload first, workload second)
{
    *fixture = (struct fixture){
        .pieces = { { .length = 40, .arrived = step },
                    { .length = 20, .arrived = step - 2 },
                    { .length = 60, .arrived = step - 1 } },
        .microbatches = { { .first_piece = 0,
                            .piece_count = 2,
                            .tokens = 60,
                            .sharding = CP_PER_DOCUMENT,
                            .workload = first },
                          { .first_piece = 2,
                            .piece_count = 1,
                            .tokens = 60,
                            .sharding = CP_PER_SEQUENCE,
                            .workload = second } },
        .ranks = { { .attention = 700 }, { .attention = 1000 }, { .attention = 900 }, { 0 } },
    };
    fixture->plan = (struct step_plan){ .step = step,
                                        .tokens = 120,
                                        .microbatch_count = 2,
                                        .rank_count = 2,
                                        .microbatches = fixture->microbatches,
                                        .pieces = fixture->pieces,
                                        .piece_count = 3,
                                        .ranks = fixture->ranks };
}

Test(tally, figures_of_two_steps)
{
    struct tally tally = { 0 };
    struct fixture fixture;
    fill(&fixture, 10, 300, 100);
    tally_add(&tally, &fixture.plan);
    fill(&fixture, 11, 100, 100);
    tally_add(&tally, &fixture.plan);

    cr_assert_eq(tally.steps, 2);
    cr_assert_eq(tally.pieces, 6);
    cr_assert_eq(tally.longest, 60);
    cr_assert_eq(tally.per_document, 2);
    cr_assert_eq(tally.delay_max, 2);
    cr_assert_float_eq(tally_imbalance(&tally), (1.5 + 1.0) / 2, 1e-12);
    cr_assert_float_eq(tally.imbalance_max, 1.5, 1e-12);
    cr_assert_float_eq(tally_makespan_ratio(&tally), 400.0 / 300.0, 1e-12);
    cr_assert_float_eq(tally_delay(&tally), (2 * 20 + 1 * 60) / 120.0, 1e-12);
    /* busiest 1000 + 900 a step; ideal (40^2 + 20^2) / 4 and 60^2 / 4 */
    cr_assert_float_eq(tally_busiest_cp_rank(&tally), 1900.0 / (500.0 + 900.0), 1e-12);
}

Test(tally, nothing_is_in_balance)
{
    struct tally tally = { 0 };
    cr_assert_float_eq(tally_imbalance(&tally), 1.0, 0);
    cr_assert_float_eq(tally_makespan_ratio(&tally), 1.0, 0);
    cr_assert_float_eq(tally_delay(&tally), 0.0, 0);
    cr_assert_float_eq(tally_busiest_cp_rank(&tally), 1.0, 0);
}
