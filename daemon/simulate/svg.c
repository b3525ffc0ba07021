#include "simulate/svg.h"

#include <stdarg.h>

#define TEXT_BYTES 256

/* Hues by Okabe and Ito; black and white change places on a dark page. */
static const char style_sheet[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
    "font-size:12px;fill:#222}\n"
    ".title{font-size:15px;font-weight:600}.faint{fill:#666;font-size:11px}\n"
    ".paper{fill:#fff}.axis{stroke:#555;stroke-width:1}\n"
    ".grid{stroke:#ddd;stroke-width:1}.even{stroke:#555;stroke-width:1;stroke-dasharray:5 4}\n"
    ".s0{fill:#d55e00;stroke:#d55e00}.s1{fill:#0072b2;stroke:#0072b2}\n"
    ".s2{fill:#009e73;stroke:#009e73}.s3{fill:#cc79a7;stroke:#cc79a7}\n"
    ".s4{fill:#e69f00;stroke:#e69f00}.s5{fill:#56b4e9;stroke:#56b4e9}\n"
    ".mark{stroke:none;fill-opacity:.85}.range{stroke-width:1.5;stroke-opacity:.45}\n"
    ".path{fill:none;stroke-width:2}\n"
    "@media (prefers-color-scheme:dark){text{fill:#e8e8e8}.faint{fill:#a8a8a8}\n"
    ".paper{fill:#15181c}.axis,.even{stroke:#aaa}.grid{stroke:#333}\n"
    ".s1{fill:#3f9fdb;stroke:#3f9fdb}.path{fill:none}.mark{stroke:none}}\n"
    "</style>\n";

/* As UTF-8 goes through as it is, only bytes with a meaning are replaced. */
static void escape(FILE *stream, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", stream);
            break;
        case '<':
            fputs("&lt;", stream);
            break;
        case '>':
            fputs("&gt;", stream);
            break;
        default:
            fputc((unsigned char)*text < ' ' ? '?' : *text, stream);
        }
    }
}

int svg_open(struct svg *svg, unsigned width, unsigned height, const char *title, struct error *err)
{
    int status = text_open(&svg->text, "drawing", err);
    if (status)
        return status;
    fprintf(svg->text.file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" "
            "height=\"%u\" role=\"img\">\n<title>",
            width, height, width, height);
    escape(svg->text.file, title);
    fprintf(svg->text.file, "</title>\n%s<rect class=\"paper\" width=\"%u\" height=\"%u\"/>\n",
            style_sheet, width, height);
    return 0;
}

int svg_close(struct svg *svg, char **ret_text, size_t *ret_bytes, struct error *err)
{
    fputs("</svg>\n", svg->text.file);
    return text_close(&svg->text, "drawing", ret_text, ret_bytes, err);
}

void svg_line(struct svg *svg, const char *style, double x1, double y1, double x2, double y2)
{
    fprintf(svg->text.file,
            "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", style, x1, y1,
            x2, y2);
}

/* Corners of each hue's shape, in radii from its middle; hue 0 is a circle. */
static const char *const shapes[SVG_HUES] = {
    NULL,
    "M-.9 -.9H.9V.9H-.9Z",                                          /* square */
    "M0 -1.2L1.1 .8H-1.1Z",                                         /* triangle */
    "M0 -1.3L1.3 0L0 1.3L-1.3 0Z",                                  /* diamond */
    "M0 1.2L1.1 -.8H-1.1Z",                                         /* triangle on its point */
    "M-.35 -1.2H.35V-.35H1.2V.35H.35V1.2H-.35V.35H-1.2V-.35H-.35Z", /* cross */
};

void svg_mark(struct svg *svg, unsigned hue, double x, double y, double radius)
{
    const char *shape = shapes[hue % SVG_HUES];
    if (!shape)
        fprintf(svg->text.file, "<circle class=\"s0 mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n",
                x, y, radius);
    else
        fprintf(svg->text.file,
                "<path class=\"s%u mark\" transform=\"translate(%.1f %.1f) scale(%.1f)\" "
                "d=\"%s\"/>\n",
                hue % SVG_HUES, x, y, radius, shape);
}

void svg_path_begin(struct svg *svg, unsigned hue)
{
    fprintf(svg->text.file, "<polyline class=\"s%u path\" points=\"", hue % SVG_HUES);
}

void svg_path_point(struct svg *svg, double x, double y)
{
    fprintf(svg->text.file, "%.1f,%.1f ", x, y);
}

void svg_path_end(struct svg *svg)
{
    fputs("\"/>\n", svg->text.file);
}

void svg_text(struct svg *svg, const char *style, enum svg_anchor anchor, double x, double y,
              const char *format, ...)
{
    static const char *const anchors[] = { "start", "middle", "end" };
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(svg->text.file, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", style,
            x, y, anchors[anchor]);
    escape(svg->text.file, text);
    fputs("</text>\n", svg->text.file);
}

void svg_text_upward(struct svg *svg, const char *style, double x, double y, const char *format,
                     ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(svg->text.file,
            "<text class=\"%s\" transform=\"translate(%.1f %.1f) rotate(-90)\" "
            "text-anchor=\"middle\">",
            style, x, y);
    escape(svg->text.file, text);
    fputs("</text>\n", svg->text.file);
}
