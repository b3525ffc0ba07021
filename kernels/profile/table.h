/*
 * The cost table that ballastd reads (daemon/cost/table.h says what it holds), and the grid beside
 * it. Written to a stream; the caller looks at ferror. Pure but for that.
 */
#ifndef BALLAST_PROFILE_TABLE_H
#define BALLAST_PROFILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/profile/fit.h"

/* Longest text of a comment's value: the reader takes lines of 255 bytes. */
#define PROFILE_MAX_TEXT 200

/* What was measured, and on what. */
struct profile_table_head {
    const char *device, *kernel; /* longer ones are cut, other bytes than text become '?' */
    const char *dtype;           /* "bf16" */
    uint32_t heads, head_dim;    /* of the whole model */
    uint32_t layers;             /* that the latencies stand for */
    bool training;               /* forward and backward passes; else forward alone */
    bool emulated;               /* the CPU was timed: nothing here says anything about a GPU */
    const char *linear;          /* where the linear rows come from */
};

void profile_table_write_head(FILE *out, const struct profile_table_head *head);

/* `# fit ...`, and how far off it is; before the names of the columns. */
void profile_table_write_fit(FILE *out, const char *pass, const struct profile_fit *fit,
                             const struct profile_fit_error *on_grid,
                             const struct profile_fit_error *on_packs);

void profile_table_write_columns(FILE *out);

/* A document of q x cp tokens, one rank's share of it. */
struct profile_document {
    uint32_t q, kv;
    double us;
};

/*
 * Rows of documents of one tp and cp, in rising order of q. The reader refuses latencies that fall
 * or are 0, which noise makes of short documents: those are lifted to what is before them, or left
 * out at the beginning. Returns how many were lifted or left out.
 */
size_t profile_table_write_attention(FILE *out, uint32_t tp, uint32_t cp,
                                     const struct profile_document *documents, size_t count);

void profile_table_write_linear(FILE *out, uint32_t tp, uint32_t cp, uint32_t q, double us);

/* A cell of the grid, as it was measured. */
struct profile_cell {
    uint32_t tp, q, kv, copies;
    double waves;
    uint64_t pairs; /* query-key pairs over all query heads and copies */
    struct profile_point forward, backward;
};

/* `fits` may be NULL where there are none: then nothing is said of what they predict. */
struct profile_fits {
    struct profile_fit forward, backward;
};

void profile_grid_write_columns(FILE *out);
void profile_grid_write(FILE *out, const struct profile_cell *cell, uint32_t head_dim,
                        const struct profile_fits *fits);

#endif
