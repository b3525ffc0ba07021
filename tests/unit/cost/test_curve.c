#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cost/curve.h"

static struct cost_curve curve_of(const struct cost_point *points, uint32_t count)
{
    struct cost_curve curve;
    struct error err = { 0 };
    cr_assert_eq(cost_curve_init(&curve, points, count, &err), 0, "%s", err.text);
    return curve;
}

static uint64_t at(const struct cost_curve *curve, uint32_t tokens)
{
    return (uint64_t)cost_curve_at(curve, tokens);
}

/* What attention costs: where points lie on a*d + b*d^2, so does everything between and beyond. */
Test(cost_curve, is_exact_for_a_parabola)
{
    struct cost_point points[10];
    for (uint32_t i = 0; i < 10; i++) {
        uint64_t d = UINT64_C(128) << i;
        points[i] = (struct cost_point){ (uint32_t)d, 5000 * d + 3 * d * d };
    }
    struct cost_curve curve = curve_of(points, 10);
    for (uint64_t d = 128; d < 200000; d += 61) {
        uint64_t expected = 5000 * d + 3 * d * d, found = at(&curve, (uint32_t)d);
        cr_assert(found <= expected && expected - found <= 1 + expected / 1000000, "%u: %lu, %lu",
                  (unsigned)d, (unsigned long)found, (unsigned long)expected);
    }
}

Test(cost_curve, is_a_line_from_the_origin_and_where_launches_decide)
{
    /* 50 ps a token, then the latency per token falls, then it rises again. */
    struct cost_curve curve =
        curve_of((struct cost_point[]){ { 100, 5000 }, { 200, 6000 }, { 400, 24000 } }, 3);
    cr_expect_eq(at(&curve, 0), 0);
    cr_expect_eq(at(&curve, 1), 50);
    cr_expect_eq(at(&curve, 50), 2500);
    cr_expect_eq(at(&curve, 150), 5500);
    /* 300 tokens at (30 + 60) / 2 ps each */
    cr_expect_eq(at(&curve, 300), 13500);
    /* and so on: 600 tokens at 30 + 2 * 30 ps each, rounded down */
    cr_expect_eq(at(&curve, 600), 53999);
}

Test(cost_curve, slopes_that_overflow_are_refused)
{
    struct cost_curve curve;
    struct error err = { 0 };
    struct cost_point points[] = { { 1, 1 }, { 2, COST_MAX_LATENCY } };
    cr_assert_eq(cost_curve_init(&curve, points, 2, &err), EX_CONFIG);
    cr_assert(strstr(err.text, "more than 2 ms a token between 1 and 2 tokens"), "%s", err.text);
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % below;
}

static uint32_t random_points(uint64_t *state, struct cost_point points[COST_MAX_POINTS])
{
    uint32_t count = 2 + (uint32_t)draw(state, COST_MAX_POINTS - 1);
    uint32_t tokens = 0;
    uint64_t latency = 1;
    for (uint32_t i = 0; i < count; i++) {
        tokens += 1 + (uint32_t)draw(state, UINT64_C(1) << draw(state, 22));
        latency += draw(state, UINT64_C(1) << draw(state, 30));
        points[i] = (struct cost_point){ tokens, latency };
    }
    return count;
}

/* Never falls, and at a point is the point. */
Test(cost_curve, property_monotone_and_exact_at_points)
{
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 3000; round++) {
        struct cost_point points[COST_MAX_POINTS];
        uint32_t count = random_points(&state, points);
        struct cost_curve curve = curve_of(points, count);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_eq(at(&curve, points[i].tokens), points[i].latency);
            uint32_t before = i ? points[i - 1].tokens : 0, span = points[i].tokens - before;
            uint64_t least = i ? points[i - 1].latency : 0;
            for (int sample = 1; sample <= 8; sample++) {
                uint32_t tokens = before + (uint32_t)((uint64_t)span * (uint64_t)sample / 8);
                cr_assert_geq(at(&curve, tokens), least);
                least = at(&curve, tokens);
            }
            cr_assert_geq(points[i].latency, at(&curve, points[i].tokens - 1));
        }
        uint32_t last = points[count - 1].tokens;
        cr_assert_geq(at(&curve, 2 * last), at(&curve, last + 1));
    }
}

Test(cost_curve, property_monotone_token_by_token)
{
    uint64_t state = 7;
    for (int round = 0; round < 20; round++) {
        struct cost_point points[COST_MAX_POINTS];
        uint32_t count = random_points(&state, points);
        struct cost_curve curve = curve_of(points, count > 12 ? 12 : count);
        uint64_t before = 0;
        for (uint32_t tokens = 1; tokens < 300000; tokens++) {
            uint64_t latency = at(&curve, tokens);
            cr_assert_geq(latency, before);
            before = latency;
        }
    }
}
