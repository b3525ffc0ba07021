/*
 * A small writer of SVG pictures, as text in memory. Colours are classes of one style sheet: chosen
 * to be told apart by people who see colours differently, and to follow a dark page. Pure.
 */
#ifndef BALLAST_SIMULATE_SVG_H
#define BALLAST_SIMULATE_SVG_H

#include <stddef.h>

#include "base/text.h"

/* Hues s0 to s5 of the style sheet, and as many shapes of marks. */
#define SVG_HUES 6

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

struct svg {
    struct text text;
};

/* Begins a picture of that many units (pixels, unless it is scaled). EX_OSERR. */
int svg_open(struct svg *svg, unsigned width, unsigned height, const char *title,
             struct error *err);

/* Ends it: *ret_text is the caller's to free. EX_OSERR, also when anything before found no memory.
 */
int svg_close(struct svg *svg, char **ret_text, size_t *ret_bytes, struct error *err);

/* `style` is a class: "axis", "grid", "s0" to "s5" and so on. */
void svg_line(struct svg *svg, const char *style, double x1, double y1, double x2, double y2);

/* A small filled mark in one of the hues, its shape its own. */
void svg_mark(struct svg *svg, unsigned hue, double x, double y, double radius);

/* A line in one of the hues through points given one by one. */
void svg_path_begin(struct svg *svg, unsigned hue);
void svg_path_point(struct svg *svg, double x, double y);
void svg_path_end(struct svg *svg);

/* Any text: what XML would take for its own is escaped, control bytes are replaced. */
__attribute__((format(printf, 6, 7))) void svg_text(struct svg *svg, const char *style,
                                                    enum svg_anchor anchor, double x, double y,
                                                    const char *format, ...);

/* The same, read from below to above. */
__attribute__((format(printf, 5, 6))) void svg_text_upward(struct svg *svg, const char *style,
                                                           double x, double y, const char *format,
                                                           ...);

#endif
