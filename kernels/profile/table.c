#include "kernels/profile/table.h"

#include <ctype.h>

/* Forward: two products of 2 x head_dim operations a pair. Backward: five. */
#define FORWARD_FLOPS 4.0
#define BACKWARD_FLOPS 10.0

/* A value of a comment: one line of printable text, whatever a driver calls its device. */
static void write_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, "# %s: ", key);
    for (size_t i = 0; i < PROFILE_MAX_TEXT && text[i]; i++)
        fputc(isprint((unsigned char)text[i]) ? text[i] : '?', out);
    fputc('\n', out);
}

void profile_table_write_head(FILE *out, const struct profile_table_head *head)
{
    fprintf(out, "# ballast cost table 1\n");
    if (head->emulated)
        fprintf(out, "# EMULATED on the CPU: a test of the profiler, no figure of any GPU\n");
    write_text(out, "device", head->device);
    write_text(out, "dtype", head->dtype);
    fprintf(out, "# heads: %u\n# head_dim: %u\n", head->heads, head->head_dim);
    write_text(out, "kernel", head->kernel);
    fprintf(out, "# unit: us\n");
    fprintf(out, "# layers %u, %s, launches left out\n", head->layers,
            head->training ? "forward and backward" : "forward alone");
    fprintf(out, "# linear rows by %s\n", head->linear);
}

void profile_table_write_fit(FILE *out, const char *pass, const struct profile_fit *fit,
                             const struct profile_fit_error *on_grid,
                             const struct profile_fit_error *on_packs)
{
    fprintf(out, "# fit of %s, one layer: %.4g us + %.4g ns a tile + %.4g ns a column\n", pass,
            fit->t0, 1e3 * fit->a, 1e3 * fit->b);
    fprintf(out, "# fit of %s, off: %.1f %% on average and %.1f %% at most on %zu cells", pass,
            100 * on_grid->mean, 100 * on_grid->most, on_grid->points);
    if (on_packs->points)
        fprintf(out, ", %.1f %% and %.1f %% on %zu packs", 100 * on_packs->mean,
                100 * on_packs->most, on_packs->points);
    fputc('\n', out);
}

void profile_table_write_columns(FILE *out)
{
    fprintf(out, "op,tp,cp,q,kv,latency\n");
}

size_t profile_table_write_attention(FILE *out, uint32_t tp, uint32_t cp,
                                     const struct profile_document *documents, size_t count)
{
    double least = 0;
    size_t changed = 0;
    for (size_t i = 0; i < count; i++) {
        double us = documents[i].us;
        if (!(us > least)) {
            changed++;
            us = least;
        }
        least = us;
        if (us >= 1e-3)
            fprintf(out, "attention,%u,%u,%u,%u,%.6f\n", tp, cp, documents[i].q, documents[i].kv,
                    us);
    }
    return changed;
}

void profile_table_write_linear(FILE *out, uint32_t tp, uint32_t cp, uint32_t q, double us)
{
    fprintf(out, "linear,%u,%u,%u,0,%.6f\n", tp, cp, q, us);
}

void profile_grid_write_columns(FILE *out)
{
    fprintf(out, "pass,tp,q,kv,copies,waves,tiles,columns,us,tflops,fitted_us\n");
}

static void write_pass(FILE *out, const char *pass, const struct profile_cell *cell,
                       const struct profile_point *point, double flops,
                       const struct profile_fit *fit)
{
    fprintf(out, "%s,%u,%u,%u,%u,%.1f,%.0f,%.0f,%.3f,%.2f,", pass, cell->tp, cell->q, cell->kv,
            cell->copies, cell->waves, point->tiles, point->columns, point->us,
            flops / point->us / 1e6);
    if (fit)
        fprintf(out, "%.3f", profile_fit_us(fit, point->tiles, point->columns));
    fputc('\n', out);
}

void profile_grid_write(FILE *out, const struct profile_cell *cell, uint32_t head_dim,
                        const struct profile_fits *fits)
{
    double unit = (double)cell->pairs * head_dim;
    write_pass(out, "forward", cell, &cell->forward, FORWARD_FLOPS * unit,
               fits ? &fits->forward : NULL);
    if (cell->backward.us > 0)
        write_pass(out, "backward", cell, &cell->backward, BACKWARD_FLOPS * unit,
                   fits ? &fits->backward : NULL);
}
