#include "simulate/tally.h"

/* A ratio over nothing is 1: nothing is out of balance. */
static double ratio(double numerator, double denominator)
{
    return denominator > 0 ? numerator / denominator : 1.0;
}

static double busiest_attention(const struct step_plan *plan, uint32_t microbatch)
{
    uint64_t busiest = 0;
    for (uint32_t r = 0; r < plan->rank_count; r++) {
        uint64_t attention = step_plan_rank(plan, microbatch, r)->attention;
        if (attention > busiest)
            busiest = attention;
    }
    return (double)busiest;
}

static double ideal_attention(const struct step_plan *plan, uint32_t microbatch)
{
    const struct plan_microbatch *of = &plan->microbatches[microbatch];
    double squares = 0;
    for (uint32_t i = 0; i < of->piece_count; i++) {
        double length = plan->pieces[of->first_piece + i].length;
        squares += length * length;
    }
    return squares / 2 / plan->rank_count;
}

static void add_workloads(struct tally *tally, const struct step_plan *plan)
{
    double most = 0, sum = 0;
    for (uint32_t m = 0; m < plan->microbatch_count; m++) {
        const struct plan_microbatch *microbatch = &plan->microbatches[m];
        double work = (double)microbatch->workload;
        sum += work;
        most = work > most ? work : most;
        if (microbatch->tokens > tally->longest)
            tally->longest = microbatch->tokens;
        tally->per_document += microbatch->sharding == CP_PER_DOCUMENT;
        tally->busiest_sum += busiest_attention(plan, m);
        tally->ideal_sum += ideal_attention(plan, m);
    }
    tally->max_workload_sum += most;
    tally->mean_workload_sum += sum / plan->microbatch_count;
}

static void add_delays(struct tally *tally, const struct step_plan *plan)
{
    for (size_t i = 0; i < plan->piece_count; i++) {
        uint64_t delay = plan->step - plan->pieces[i].arrived;
        tally->delay_token_sum += (double)delay * plan->pieces[i].length;
        if (delay > tally->delay_max)
            tally->delay_max = delay;
    }
}

void tally_add(struct tally *tally, const struct step_plan *plan)
{
    double imbalance = step_plan_imbalance(plan);
    tally->steps++;
    tally->microbatches += plan->microbatch_count;
    tally->pieces += plan->piece_count;
    tally->tokens += plan->tokens;
    tally->imbalance_sum += imbalance;
    if (imbalance > tally->imbalance_max)
        tally->imbalance_max = imbalance;
    add_workloads(tally, plan);
    add_delays(tally, plan);
}

double tally_imbalance(const struct tally *tally)
{
    return ratio(tally->imbalance_sum, (double)tally->steps);
}

double tally_makespan_ratio(const struct tally *tally)
{
    return ratio(tally->max_workload_sum, tally->mean_workload_sum);
}

double tally_delay(const struct tally *tally)
{
    return tally->tokens ? tally->delay_token_sum / (double)tally->tokens : 0.0;
}

double tally_busiest_cp_rank(const struct tally *tally)
{
    return ratio(tally->busiest_sum, tally->ideal_sum);
}
