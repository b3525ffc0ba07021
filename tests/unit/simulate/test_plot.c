#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/plot.h"
#include "simulate/svg.h"

/* How often `needle` stands in `text`. */
static size_t occurrences(const char *text, const char *needle)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, needle)); at += strlen(needle))
        found++;
    return found;
}

Test(svg, text_is_escaped)
{
    struct svg svg;
    char *text = NULL;
    size_t bytes = 0;
    cr_assert_eq(svg_open(&svg, 100, 50, "a < b & c", NULL), 0);
    svg_text(&svg, "label", SVG_END, 1, 2, "%s", "<&>\n\"x\"");
    cr_assert_eq(svg_close(&svg, &text, &bytes, NULL), 0);
    cr_assert_eq(strlen(text), bytes);
    cr_assert_not_null(strstr(text, "<title>a &lt; b &amp; c</title>"));
    cr_assert_not_null(strstr(text, ">&lt;&amp;&gt;?\"x\"</text>"));
    cr_assert_str_eq(text + bytes - 7, "</svg>\n");
    free(text);
}

static struct simulation simulation_of(const double *workloads, size_t count)
{
    struct simulation simulation = { .microbatches = 2 };
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(series_add(&simulation.drawn, workloads[i], NULL), 0);
    return simulation;
}

static char *draw(const struct simulation *before, const struct simulation *after,
                  const struct plot_curve *curves, size_t count)
{
    struct plot plot = { .title = "title",
                         .subtitle = "subtitle",
                         .before = before,
                         .after = after,
                         .before_name = "plain, per-sequence",
                         .after_name = "wlb, adaptive",
                         .before_hue = 0,
                         .after_hue = 1,
                         .curves = curves,
                         .curve_count = count };
    char *text = NULL;
    size_t bytes = 0;
    cr_assert_eq(plot_draw(&plot, &text, &bytes, NULL), 0);
    cr_assert_eq(strlen(text), bytes);
    return text;
}

Test(plot, draws_a_mark_for_every_microbatch_and_setting)
{
    const double early[] = { 4, 1, 2, 2 }, late[] = { 2.5, 2.5, 2, 2 };
    struct simulation before = simulation_of(early, 4), after = simulation_of(late, 4);
    const struct plot_curve curves[] = {
        { .label = "plain", .points = { { 0, 0.5 } }, .count = 1 },
        { .label = "wlb", .points = { { 0.5, 0.01 }, { 0.2, 0.1 }, { 0.6, 0.05 } }, .count = 3 },
    };
    char *text = draw(&before, &after, curves, 2);
    /* Circles: 4 micro-batches, a point, and two entries of legends. */
    cr_assert_eq(occurrences(text, "<circle"), 4 + 1 + 2);
    cr_assert_eq(occurrences(text, "class=\"s1 mark\""), 4 + 3 + 2);
    cr_assert_eq(occurrences(text, "<polyline"), 2);
    cr_assert_not_null(strstr(text, "wlb, adaptive"));
    cr_assert_null(strstr(text, "nan"));
    cr_assert_null(strstr(text, "inf"));
    free(text);
    simulation_fini(&before);
    simulation_fini(&after);
}

Test(plot, nothing_to_draw_is_no_accident)
{
    struct simulation nothing = { .microbatches = 70000 };
    const struct plot_curve curve = { .label = "plain", .points = { { 0, -1e-17 } }, .count = 1 };
    char *text = draw(&nothing, &nothing, &curve, 1);
    cr_assert_null(strstr(text, "nan"));
    cr_assert_null(strstr(text, "inf"));
    free(text);
}
