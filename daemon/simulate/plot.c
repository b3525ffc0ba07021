#include "simulate/plot.h"

#include <math.h>
#include <stdint.h>

#include "simulate/svg.h"

_Static_assert(PLOT_MOST_CURVES == SVG_HUES, "every curve has a hue of its own");

#define WIDTH 960
#define HEIGHT 720
#define LEFT 76.0
#define RIGHT 940.0

/* Balance better than this is drawn as this: a logarithm has no zero. */
#define LEAST_EXCESS 1e-5

/* A panel: what its axes span, and where it lies. */
struct panel {
    double left, top, right, bottom;
    double x_least, x_most, y_least, y_most;
};

static double across(const struct panel *panel, double x)
{
    double part = (x - panel->x_least) / (panel->x_most - panel->x_least);
    return panel->left + part * (panel->right - panel->left);
}

static double up(const struct panel *panel, double y)
{
    double part = (y - panel->y_least) / (panel->y_most - panel->y_least);
    return panel->bottom - part * (panel->bottom - panel->top);
}

/* 1, 2 or 5 times a power of ten, so that about `wanted` of them make up `span`. */
static double tick_distance(double span, unsigned wanted)
{
    double rough = span / wanted;
    double power = pow(10, floor(log10(rough)));
    double digit = rough / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static void draw_axes(struct svg *svg, const struct panel *panel, const char *x_name,
                      const char *y_name)
{
    double middle = (panel->left + panel->right) / 2;
    svg_line(svg, "axis", panel->left, panel->bottom, panel->right, panel->bottom);
    svg_line(svg, "axis", panel->left, panel->top, panel->left, panel->bottom);
    svg_text(svg, "label", SVG_MIDDLE, middle, panel->bottom + 36, "%s", x_name);
    svg_text_upward(svg, "label", panel->left - 54, (panel->top + panel->bottom) / 2, "%s", y_name);
}

static void draw_x_ticks(struct svg *svg, const struct panel *panel)
{
    double distance = tick_distance(panel->x_most - panel->x_least, 8);
    for (double x = ceil(panel->x_least / distance) * distance; x <= panel->x_most * (1 + 1e-9);
         x += distance) {
        svg_line(svg, "axis", across(panel, x), panel->bottom, across(panel, x), panel->bottom + 4);
        svg_text(svg, "tick", SVG_MIDDLE, across(panel, x), panel->bottom + 18, "%g",
                 fabs(x) < distance / 1e6 ? 0 : x);
    }
}

static void draw_y_tick(struct svg *svg, const struct panel *panel, double y, const char *format,
                        double value)
{
    char text[32];
    snprintf(text, sizeof text, "%g", value);
    svg_line(svg, "grid", panel->left, up(panel, y), panel->right, up(panel, y));
    svg_text(svg, "tick", SVG_END, panel->left - 8, up(panel, y) + 4, "%s%s", text, format);
}

static void legend_entry(struct svg *svg, unsigned hue, double x, double y, const char *label)
{
    svg_mark(svg, hue, x, y - 4, 4.5);
    svg_text(svg, "label", SVG_START, x + 11, y, "%s", label);
}

static double largest_workload(const struct simulation *simulation)
{
    double most = 0;
    for (size_t i = 0; i < simulation->drawn.count; i++)
        most = simulation->drawn.values[i] > most ? simulation->drawn.values[i] : most;
    return most;
}

/* One step: a line from the least to the most work, and a mark for every micro-batch. */
static void draw_step(struct svg *svg, const struct panel *panel, unsigned hue,
                      const double *workloads, uint32_t count, double x, double unit)
{
    double least = workloads[0], most = workloads[0];
    for (uint32_t m = 1; m < count; m++) {
        least = workloads[m] < least ? workloads[m] : least;
        most = workloads[m] > most ? workloads[m] : most;
    }
    char style[16];
    snprintf(style, sizeof style, "s%u range", hue);
    svg_line(svg, style, across(panel, x), up(panel, least / unit), across(panel, x),
             up(panel, most / unit));
    for (uint32_t m = 0; m < count; m++)
        svg_mark(svg, hue, across(panel, x), up(panel, workloads[m] / unit), 2.2);
}

static void draw_workloads_of(struct svg *svg, const struct panel *panel, unsigned hue,
                              const struct simulation *simulation, double shift, double unit)
{
    uint32_t count = simulation->microbatches;
    for (size_t step = 0; (step + 1) * count <= simulation->drawn.count; step++)
        draw_step(svg, panel, hue, simulation->drawn.values + step * count, count,
                  (double)step + SIMULATE_WARM_UP + shift, unit);
}

static void draw_workloads(struct svg *svg, const struct plot *plot)
{
    double unit = series_mean(&plot->before->drawn);
    double most = largest_workload(plot->before), after = largest_workload(plot->after);
    most = unit > 0 ? (most > after ? most : after) / unit : 1;
    size_t drawn_steps = plot->before->drawn.count / plot->before->microbatches;
    double steps = (double)drawn_steps;
    struct panel panel = { .left = LEFT,
                           .top = 92,
                           .right = RIGHT,
                           .bottom = 350,
                           .x_least = SIMULATE_WARM_UP - 1,
                           .x_most = SIMULATE_WARM_UP + (steps > 1 ? steps : 1),
                           .y_most = most * 1.05 };
    double distance = tick_distance(panel.y_most, 6);
    for (double y = 0; y <= panel.y_most; y += distance)
        draw_y_tick(svg, &panel, y, "", y);
    draw_axes(svg, &panel, "step", "workload (1 = mean of the baseline)");
    draw_x_ticks(svg, &panel);
    svg_line(svg, "even", panel.left, up(&panel, 1), panel.right, up(&panel, 1));
    if (unit > 0) {
        draw_workloads_of(svg, &panel, plot->before_hue, plot->before, -0.2, unit);
        draw_workloads_of(svg, &panel, plot->after_hue, plot->after, 0.2, unit);
    }
    svg_text(svg, "label", SVG_START, LEFT, 78, "Work of every micro-batch of a step:");
    legend_entry(svg, plot->before_hue, LEFT + 244, 78, plot->before_name);
    legend_entry(svg, plot->after_hue, LEFT + 464, 78, plot->after_name);
}

static double excess_of(const struct plot_point *point)
{
    return point->excess > LEAST_EXCESS ? point->excess : LEAST_EXCESS;
}

/* Axes that hold every point: delay from 0, excess in whole powers of ten. */
static struct panel trade_off_panel(const struct plot *plot)
{
    double delay = 0, least = 0.1, most = 0.1;
    for (size_t c = 0; c < plot->curve_count; c++)
        for (size_t i = 0; i < plot->curves[c].count; i++) {
            const struct plot_point *point = &plot->curves[c].points[i];
            delay = point->delay > delay ? point->delay : delay;
            least = excess_of(point) < least ? excess_of(point) : least;
            most = excess_of(point) > most ? excess_of(point) : most;
        }
    return (struct panel){ .left = LEFT,
                           .top = 432,
                           .right = 700,
                           .bottom = 664,
                           .x_least = -0.02 * (delay > 0 ? delay : 1),
                           .x_most = delay > 0 ? delay * 1.05 : 1,
                           .y_least = floor(log10(least)),
                           .y_most = ceil(log10(most) + 1e-9) };
}

/* Is there a point with less delay that is as well balanced, or one as early that is better? */
static bool is_beaten(const struct plot_curve *curve, size_t index)
{
    const struct plot_point *point = &curve->points[index];
    for (size_t i = 0; i < curve->count; i++) {
        const struct plot_point *other = &curve->points[i];
        bool as_good = other->delay <= point->delay && other->excess <= point->excess;
        bool better = other->delay < point->delay || other->excess < point->excess;
        if (as_good && (better || i < index))
            return true;
    }
    return false;
}

/* The point after `delay` that no other one beats, or NULL. */
static const struct plot_point *next_best(const struct plot_curve *curve, double delay)
{
    const struct plot_point *next = NULL;
    for (size_t i = 0; i < curve->count; i++) {
        const struct plot_point *point = &curve->points[i];
        if (point->delay > delay && (!next || point->delay < next->delay) && !is_beaten(curve, i))
            next = point;
    }
    return next;
}

static double point_x(const struct panel *panel, const struct plot_point *point)
{
    return across(panel, point->delay);
}

static double point_y(const struct panel *panel, const struct plot_point *point)
{
    return up(panel, log10(excess_of(point)));
}

static void draw_curve(struct svg *svg, const struct panel *panel, unsigned hue,
                       const struct plot_curve *curve)
{
    svg_path_begin(svg, hue);
    const struct plot_point *best = next_best(curve, -1);
    for (; best; best = next_best(curve, best->delay))
        svg_path_point(svg, point_x(panel, best), point_y(panel, best));
    svg_path_end(svg);
    for (size_t i = 0; i < curve->count; i++)
        svg_mark(svg, hue, point_x(panel, &curve->points[i]), point_y(panel, &curve->points[i]),
                 4.5);
}

static void draw_trade_off(struct svg *svg, const struct plot *plot)
{
    struct panel panel = trade_off_panel(plot);
    for (double y = panel.y_least; y <= panel.y_most + 0.5; y++)
        draw_y_tick(svg, &panel, y, " %", 100 * pow(10, y));
    draw_axes(svg, &panel, "mean delay of a token (steps)", "makespan over even shares");
    draw_x_ticks(svg, &panel);
    svg_text(svg, "label", SVG_START, LEFT, 418,
             "What balance costs in delay (lower and further left is better)");
    for (size_t c = 0; c < plot->curve_count; c++) {
        draw_curve(svg, &panel, (unsigned)c, &plot->curves[c]);
        legend_entry(svg, (unsigned)c, 722, 444 + 20 * (double)c, plot->curves[c].label);
    }
}

int plot_draw(const struct plot *plot, char **ret_text, size_t *ret_bytes, struct error *err)
{
    struct svg svg;
    int status = svg_open(&svg, WIDTH, HEIGHT, plot->title, err);
    if (status)
        return status;
    svg_text(&svg, "title", SVG_START, LEFT - 54, 30, "%s", plot->title);
    svg_text(&svg, "faint", SVG_START, LEFT - 54, 50, "%s", plot->subtitle);
    draw_workloads(&svg, plot);
    draw_trade_off(&svg, plot);
    return svg_close(&svg, ret_text, ret_bytes, err);
}
