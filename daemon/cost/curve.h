/*
 * Latency by length through measured points, as exact integers.
 *
 * Between two points the latency per token is interpolated linearly in the length, where it rises:
 * so the latency is quadratic, exact for any a*d + b*d^2, which is what attention costs. Where the
 * latency per token falls (a launch costs more than the work), the latency itself is interpolated
 * linearly: anything bent would not be monotone there. Below the first point the line comes from
 * the origin. At a point the curve is the point, to the unit; between two it never falls.
 *
 * Why so: leave each of the published H100 lengths from 2048 tokens up out in turn, so that points
 * are four times apart, and it is predicted 4.0 % off on average. Interpolating TFLOP/s in the
 * logarithm of the length does as well there (4.0 %) but not from 128 tokens up (19 % against
 * 6.4 %); straight lines in log-log are 7.5 % off, straight lines 33 %.
 */
#ifndef BALLAST_COST_CURVE_H
#define BALLAST_COST_CURVE_H

#include <stdint.h>

#include "base/error.h"
#include "base/wide.h"

#define COST_FRACTION_BITS 32

/* Points of one curve, so that it needs no memory of its own and can be copied. */
#define COST_MAX_POINTS 63

/* No piece is longer, and nothing that anyone measures takes longer than 18 minutes. */
#define COST_MAX_TOKENS (UINT32_C(1) << 28)
#define COST_MAX_LATENCY (UINT64_C(1) << 50)

struct cost_point {
    uint32_t tokens;
    uint64_t latency; /* ps */
};

/* From `tokens` on, x tokens further: at + (x * rise + x^2 * bend) / 2^COST_FRACTION_BITS. */
struct cost_knot {
    uint32_t tokens;
    uint64_t at, rise, bend;
};

/* count 0: no curve. The first knot is the origin. */
struct cost_curve {
    uint32_t count;
    struct cost_knot knots[COST_MAX_POINTS + 1];
};

/*
 * Through 2 to COST_MAX_POINTS points, whose tokens rise from at least 1, whose latencies are at
 * least 1 and do not fall, all within the bounds above. EX_CONFIG when a slope is beyond what fixed
 * point holds.
 */
int cost_curve_init(struct cost_curve *curve, const struct cost_point *points, uint32_t count,
                    struct error *err);

/* The knot whose segment holds `tokens`: O(log count). Beyond the last point, the last segment. */
static inline const struct cost_knot *cost_curve_knot(const struct cost_curve *curve,
                                                      uint32_t tokens)
{
    const struct cost_knot *first = curve->knots;
    for (uint32_t count = curve->count; count > 1;) {
        uint32_t half = count / 2;
        first = first[half].tokens <= tokens ? first + half : first;
        count -= half;
    }
    return first;
}

static inline wide cost_curve_at(const struct cost_curve *curve, uint32_t tokens)
{
    const struct cost_knot *knot = cost_curve_knot(curve, tokens);
    uint64_t x = tokens - knot->tokens;
    wide beyond = (wide)knot->rise * x + (wide)knot->bend * (x * x);
    return knot->at + (beyond >> COST_FRACTION_BITS);
}

#endif
