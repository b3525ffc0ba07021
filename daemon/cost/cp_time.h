/*
 * From what a CP shard plan counts (query-key pairs of whole tiles, padded tokens) to predicted
 * time, in the unit of the cost model. For reports and simulations: strategies compare pairs.
 */
#ifndef BALLAST_COST_CP_TIME_H
#define BALLAST_COST_CP_TIME_H

#include "cost/cost.h"

/*
 * Attention over `pairs` pairs on one rank, at the rate of long documents: a whole causal document
 * of d tokens has d^2 / 2 of them. Tiles count what short pieces waste.
 */
static inline workload cost_pairs(const struct cost_model *model, uint64_t pairs)
{
    if (!model->table.attention.count)
        return (workload)((wide)pairs * 2 * model->quadratic >> COST_FRACTION_BITS);
    uint64_t longest = model->table.longest;
    wide per_square = (wide)cost_attention(model, model->table.longest) * model->cp;
    return (workload)(2 * per_square * pairs / (longest * longest));
}

/*
 * A micro-batch on its busiest CP rank, which computes `pairs` and holds `padded_tokens`, as every
 * rank does. With cp = 1 and documents much longer than a tile it approaches the micro-batch's
 * workload.
 */
static inline workload cp_time(const struct cost_model *model, uint64_t pairs,
                               uint64_t padded_tokens)
{
    return cost_pairs(model, pairs) + cost_linear(model, padded_tokens * model->cp);
}

#endif
