#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/permutation.h"
#include "simulate/pipeline.h"

#define MOST 24

static double makespan(uint32_t stages, const double *times, uint32_t count)
{
    struct pipeline pipeline;
    cr_assert_eq(pipeline_init(&pipeline, stages, NULL), 0);
    double time = pipeline_makespan(&pipeline, times, count);
    cr_assert_eq(time, pipeline_makespan(&pipeline, times, count), "it starts afresh every time");
    pipeline_fini(&pipeline);
    return time;
}

Test(pipeline, equal_microbatches_give_the_textbook_formula)
{
    double times[MOST];
    for (uint32_t i = 0; i < MOST; i++)
        times[i] = 3;
    for (uint32_t stages = 1; stages <= 9; stages++)
        for (uint32_t count = 1; count <= MOST; count++) {
            double right = 3.0 * (count + stages - 1);
            cr_assert_float_eq(makespan(stages, times, count), right, 1e-9, "%u stages, %u", stages,
                               count);
            struct pipeline pipeline = { .stages = stages };
            cr_assert_float_eq(pipeline_equal_makespan(&pipeline, 3.0 * count, count), right, 1e-9);
        }
}

Test(pipeline, one_stage_does_everything_in_turn)
{
    const double times[] = { 1, 5, 2 };
    cr_assert_float_eq(makespan(1, times, 3), 8, 1e-12);
}

Test(pipeline, a_long_microbatch_holds_up_every_stage)
{
    /* Two stages, backward twice as long as forward: F0 F1 | B0 F1 B1 worked out by hand. */
    const double times[] = { 3, 9 };
    /* stage 0: F0 0-1, F1 1-4;  stage 1: F0 1-2, B0 2-4, F1 4-7, B1 7-13; stage 0: B0 4-6, B1 13-19
     */
    cr_assert_float_eq(makespan(2, times, 2), 19, 1e-12);
    cr_assert_float_eq(makespan(2, times, 0), 0, 0);
}

/* A pass of a stage, for the brute force. */
struct pass {
    bool backward;
    uint32_t microbatch;
};

/* One stage's passes in the order of 1F1B. */
static uint32_t schedule(uint32_t stages, uint32_t stage, uint32_t count, struct pass *passes)
{
    uint32_t ahead = stages - stage - 1, done = 0, forward = 0, backward = 0;
    while (forward < count && forward < ahead)
        passes[done++] = (struct pass){ false, forward++ };
    while (backward < count) {
        if (forward < count)
            passes[done++] = (struct pass){ false, forward++ };
        passes[done++] = (struct pass){ true, backward++ };
    }
    return done;
}

struct brute {
    uint32_t stages, count;
    struct pass passes[MOST][2 * MOST];
    uint32_t next[MOST];
    double idle_since[MOST];
    double done[2][MOST][MOST]; /* by kind, stage, micro-batch; negative: not yet */
};

/* When the pass may begin, or a negative number if what it waits for is not done. */
static double ready(const struct brute *brute, uint32_t stage, struct pass pass)
{
    double input = 0;
    if (!pass.backward && stage > 0)
        input = brute->done[0][stage - 1][pass.microbatch];
    if (pass.backward && stage + 1 == brute->stages)
        input = brute->done[0][stage][pass.microbatch];
    if (pass.backward && stage + 1 < brute->stages)
        input = brute->done[1][stage + 1][pass.microbatch];
    if (input < 0)
        return input;
    return input > brute->idle_since[stage] ? input : brute->idle_since[stage];
}

/* Runs, of all stages' next passes that could begin, the one that begins first. False at the end.
 */
static bool run_next(struct brute *brute, const double *times)
{
    uint32_t chosen = UINT32_MAX;
    double first = 0;
    for (uint32_t s = 0; s < brute->stages; s++) {
        if (brute->next[s] == 2 * brute->count)
            continue;
        double start = ready(brute, s, brute->passes[s][brute->next[s]]);
        if (start >= 0 && (chosen == UINT32_MAX || start < first)) {
            chosen = s;
            first = start;
        }
    }
    if (chosen == UINT32_MAX)
        return false;
    struct pass pass = brute->passes[chosen][brute->next[chosen]++];
    double end = first + times[pass.microbatch] * (pass.backward ? 2 : 1) / 3;
    brute->idle_since[chosen] = brute->done[pass.backward][chosen][pass.microbatch] = end;
    return true;
}

static double by_events(uint32_t stages, const double *times, uint32_t count)
{
    static struct brute brute;
    brute = (struct brute){ .stages = stages, .count = count };
    for (uint32_t s = 0; s < stages; s++) {
        cr_assert_eq(schedule(stages, s, count, brute.passes[s]), 2 * count);
        for (uint32_t i = 0; i < count; i++)
            brute.done[0][s][i] = brute.done[1][s][i] = -1;
    }
    double end = 0;
    while (run_next(&brute, times))
        ;
    for (uint32_t s = 0; s < stages; s++) {
        cr_assert_eq(brute.next[s], 2 * count, "a deadlock");
        end = brute.idle_since[s] > end ? brute.idle_since[s] : end;
    }
    return end;
}

Test(pipeline, property_the_recurrence_is_what_events_give)
{
    double times[MOST];
    for (uint64_t round = 0; round < 400; round++) {
        uint32_t stages = 1 + (uint32_t)(mix_keys(round, 1) % 8);
        uint32_t count = 1 + (uint32_t)(mix_keys(round, 2) % MOST);
        for (uint32_t i = 0; i < count; i++)
            times[i] = (double)(mix_keys(round, 3 + i) % 1000) * (round % 3 ? 1 : (i % 7 == 0) * 9);
        cr_assert_float_eq(makespan(stages, times, count), by_events(stages, times, count), 1e-6,
                           "round %lu: %u stages, %u micro-batches", (unsigned long)round, stages,
                           count);
    }
}
