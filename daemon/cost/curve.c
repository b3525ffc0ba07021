#include "cost/curve.h"

/* 2^31 ps, two milliseconds, for one token more. */
#define LARGEST_SLOPE ((wide)1 << (31 + COST_FRACTION_BITS))

static wide in_fixed_point(uint64_t numerator, uint64_t denominator)
{
    return ((wide)numerator << COST_FRACTION_BITS) / denominator;
}

/* Rounded down throughout, so that a segment never ends above the point that follows. */
static int set_segment(struct cost_knot *knot, struct cost_point from, struct cost_point to,
                       struct error *err)
{
    uint64_t span = to.tokens - from.tokens;
    wide straight = in_fixed_point(to.latency - from.latency, span);
    wide rise = straight, bend = 0;
    wide per_token = from.tokens ? in_fixed_point(from.latency, from.tokens) : straight;
    wide per_token_after = in_fixed_point(to.latency, to.tokens);
    if (per_token_after > per_token) {
        bend = (per_token_after - per_token) / span;
        rise = straight - bend * span;
    }
    if (straight > LARGEST_SLOPE)
        return error_set(err, EX_CONFIG,
                         "latency rises by more than 2 ms a token between %u and %u tokens: check "
                         "the unit",
                         from.tokens, to.tokens);
    *knot = (struct cost_knot){
        .tokens = from.tokens, .at = from.latency, .rise = (uint64_t)rise, .bend = (uint64_t)bend
    };
    return 0;
}

int cost_curve_init(struct cost_curve *curve, const struct cost_point *points, uint32_t count,
                    struct error *err)
{
    struct cost_curve made = { .count = count + 1 };
    struct cost_point from = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        int status = set_segment(&made.knots[i], from, points[i], err);
        if (status)
            return status;
        from = points[i];
    }
    /* Beyond the last point the last segment goes on: the same parabola, from its end. */
    const struct cost_knot *last = &made.knots[count - 1];
    uint64_t span = from.tokens - last->tokens;
    made.knots[count] = (struct cost_knot){ .tokens = from.tokens,
                                            .at = from.latency,
                                            .rise = last->rise + 2 * span * last->bend,
                                            .bend = last->bend };
    *curve = made;
    return 0;
}
