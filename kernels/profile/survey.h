/*
 * Everything that is measured of attention: the grid and the fit, the documents of the table, the
 * packs on which the fit is checked.
 */
#ifndef BALLAST_PROFILE_SURVEY_H
#define BALLAST_PROFILE_SURVEY_H

#include "kernels/profile/lengths.h"
#include "kernels/profile/measure.h"
#include "kernels/profile/options.h"
#include "kernels/profile/table.h"

#define PROFILE_MAX_LENGTHS_OF_AXIS 25 /* from 1 to 2^24, doubling */
#define PROFILE_MAX_CELLS (2 * PROFILE_MAX_LENGTHS_OF_AXIS * PROFILE_MAX_LENGTHS_OF_AXIS)
#define PROFILE_MAX_PACKS 4096

struct profile_survey {
    const struct profile_options *options; /* borrowed */
    struct profile_measure measure;
    struct profile_bounds bounds;

    /* Filled by profile_survey_grid. */
    struct profile_cell cells[PROFILE_MAX_CELLS];
    uint32_t cell_count, short_cells; /* short: memory did not hold the waves; not fitted */
    struct profile_fits fits;
    struct profile_fit_error forward_on_grid, backward_on_grid;

    /* Filled by profile_survey_packs; points is 0 where there are none. */
    struct profile_point forward_packs[PROFILE_MAX_PACKS], backward_packs[PROFILE_MAX_PACKS];
    uint32_t pack_count;
};

/* All of these return 0, or a sysexits code with `error` filled. */

/* On the heap, since it is large: free() it. Borrows options and device. */
int profile_survey_new(const struct profile_options *options, struct profile_device *device,
                       struct profile_survey **ret_survey, ballast_attention_error *error);

/* Of one of `tp` ranks from here on. */
void profile_survey_set_tp(struct profile_survey *survey, uint32_t tp);

/* Measures every cell with q <= kv, short ones twice (grid.h), and fits t0, a and b. */
int profile_survey_grid(struct profile_survey *survey, ballast_attention_error *error);

/*
 * One layer's share of documents of cp ranks, launches left out by the fit: lengths from the first
 * of the grid's kv to the last. `documents` has room for PROFILE_MAX_LENGTHS_OF_AXIS.
 */
int profile_survey_documents(const struct profile_survey *survey, uint32_t cp,
                             struct profile_document *documents, uint32_t *ret_count,
                             ballast_attention_error *error);

/* Measures packs of real lengths, rank 0 of cp. */
int profile_survey_packs(struct profile_survey *survey, const struct profile_lengths *lengths,
                         uint32_t cp, ballast_attention_error *error);

#endif
