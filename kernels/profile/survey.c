#include "kernels/profile/survey.h"

#include <stdlib.h>
#include <sysexits.h>

#include "kernels/profile/fail.h"

/* Blocks of the kernels that one multiprocessor holds, at most: the waves are counted by it. */
#define BLOCKS_PER_MULTIPROCESSOR 2

int profile_survey_new(const struct profile_options *options, struct profile_device *device,
                       struct profile_survey **ret_survey, ballast_attention_error *error)
{
    const struct profile_device_facts *facts = profile_device_get_facts(device);
    struct profile_survey *survey = calloc(1, sizeof *survey);
    if (!survey)
        return profile_fail(error, EX_OSERR, "no memory for a survey");
    survey->options = options;
    survey->measure.device = device;
    survey->measure.repeats = options->repeats;
    survey->measure.backward = options->training;
    survey->bounds.waves = options->waves;
    survey->bounds.slots = facts->multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    survey->bounds.bytes =
        options->memory_gib ? options->memory_gib << 30 : facts->free_bytes / 10 * 9;
    *ret_survey = survey;
    return 0;
}

void profile_survey_set_tp(struct profile_survey *survey, uint32_t tp)
{
    const struct profile_model *model = &survey->options->model;
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.type = survey->options->type;
    layout.path = survey->options->path;
    layout.heads = model->heads / tp;
    layout.kv_heads = model->kv_heads > tp ? model->kv_heads / tp : 1;
    layout.head_dim = model->head_dim;
    survey->measure.layout = layout;
}

/* Adds a piece of `length` tokens, of which the rank has some, as `argument` says. */
typedef bool add_copy(struct profile_pack *pack, uint32_t length, uint32_t argument);

static bool add_rows(struct profile_pack *pack, uint32_t length, uint32_t rows)
{
    return profile_pack_add_rows(pack, length, rows);
}

static bool add_share(struct profile_pack *pack, uint32_t length, uint32_t cp)
{
    uint32_t dealer = 0;
    return profile_pack_add_share(pack, length, cp, 0, &dealer);
}

/* What is measured as often as makes the waves, times `more`. */
struct repeated {
    add_copy *add;
    uint32_t length, rows, argument, more;
};

static bool add_copies(struct profile_pack *pack, const struct repeated *what, uint32_t copies)
{
    while (pack->pieces < copies)
        if (!what->add(pack, what->length, what->argument))
            return false;
    return true;
}

/* *ret_copies is 0 when memory does not hold one. */
static int count_copies(const struct profile_survey *survey, const struct repeated *what,
                        struct profile_pack *one, uint32_t *ret_copies,
                        ballast_attention_error *error)
{
    uint64_t tiles, bytes = profile_measure_bytes(&survey->measure, what->rows, what->length);
    struct profile_bounds bounds = survey->bounds;
    bounds.waves *= what->more;
    int status = profile_measure_tiles(&survey->measure.layout, one, &tiles, error);
    if (!status)
        *ret_copies = profile_copies(&bounds, tiles, bytes);
    return status;
}

static int measure_repeated(const struct profile_survey *survey, const struct repeated *what,
                            uint32_t *ret_copies, struct profile_measured *ret_measured,
                            ballast_attention_error *error)
{
    struct profile_pack pack = { 0 };
    uint32_t copies = 0;
    int status = 0;
    if (!add_copies(&pack, what, 1))
        status = profile_fail(error, EX_OSERR, "no memory for a piece");
    if (!status)
        status = count_copies(survey, what, &pack, &copies, error);
    if (!status && !add_copies(&pack, what, copies))
        status = profile_fail(error, EX_OSERR, "no memory for %u pieces", copies);
    if (!status && copies)
        status = profile_measure_pack(&survey->measure, &pack, ret_measured, error);
    profile_pack_fini(&pack);
    if (!status)
        *ret_copies = copies;
    return status;
}

static int measure_cell(struct profile_survey *survey, uint32_t q, uint32_t kv, uint32_t more,
                        ballast_attention_error *error)
{
    struct profile_measured measured;
    const struct repeated what = { add_rows, kv, q, q, more };
    uint32_t copies;
    int status = measure_repeated(survey, &what, &copies, &measured, error);
    if (status || !copies)
        return status;
    survey->cells[survey->cell_count++] = (struct profile_cell){
        .tp = survey->options->tp.items[0],
        .q = q,
        .kv = kv,
        .copies = copies,
        .waves = profile_waves(&survey->bounds, (uint64_t)measured.forward.tiles),
        .pairs = measured.pairs,
        .forward = measured.forward,
        .backward = measured.backward,
    };
    return 0;
}

/* All cells of one key length. */
static int measure_cells(struct profile_survey *survey, uint32_t kv, ballast_attention_error *error)
{
    struct profile_range queries = survey->options->q;
    int status = 0;
    for (uint32_t i = 0; !status && i < profile_range_count(queries); i++) {
        uint32_t q = profile_range_at(queries, i);
        if (q > kv)
            break;
        status = measure_cell(survey, q, kv, 1, error);
        if (!status && kv <= PROFILE_SHORT_KEYS)
            status = measure_cell(survey, q, kv, PROFILE_MORE_COPIES, error);
    }
    return status;
}

/* Points of the cells that had all waves, forward or backward; returns how many. */
static size_t take_points(const struct profile_survey *survey, bool backward,
                          struct profile_point *points)
{
    size_t count = 0;
    for (uint32_t i = 0; i < survey->cell_count; i++) {
        const struct profile_cell *cell = &survey->cells[i];
        if (cell->waves >= survey->bounds.waves)
            points[count++] = backward ? cell->backward : cell->forward;
    }
    return count;
}

static int fit_pass(struct profile_survey *survey, bool backward, struct profile_fit *fit,
                    struct profile_fit_error *ret_off, ballast_attention_error *error)
{
    struct profile_point points[PROFILE_MAX_CELLS];
    size_t count = take_points(survey, backward, points);
    survey->short_cells = survey->cell_count - (uint32_t)count;
    if (!profile_fit_points(points, count, fit))
        return profile_fail(error, EX_DATAERR,
                            "%zu cells of the grid with %u waves do not make a fit: measure more "
                            "lengths (--q, --kv), or with more memory",
                            count, survey->bounds.waves);
    *ret_off = profile_fit_check(fit, points, count);
    return 0;
}

int profile_survey_grid(struct profile_survey *survey, ballast_attention_error *error)
{
    struct profile_range keys = survey->options->kv;
    int status = 0;
    for (uint32_t i = 0; !status && i < profile_range_count(keys); i++)
        status = measure_cells(survey, profile_range_at(keys, i), error);
    if (!status)
        status = fit_pass(survey, false, &survey->fits.forward, &survey->forward_on_grid, error);
    if (!status && survey->measure.backward)
        status = fit_pass(survey, true, &survey->fits.backward, &survey->backward_on_grid, error);
    return status;
}

/* One layer's share of a document, the launch left out. *ret_us is 0 when memory does not hold it.
 */
static int measure_document(const struct profile_survey *survey, uint32_t length, uint32_t cp,
                            double *ret_us, ballast_attention_error *error)
{
    struct profile_measured measured;
    const struct repeated what = { add_share, length, length / cp, cp, 1 };
    uint32_t copies;
    int status = measure_repeated(survey, &what, &copies, &measured, error);
    if (status)
        return status;
    *ret_us = 0;
    if (!copies)
        return 0;
    double us = measured.forward.us - survey->fits.forward.t0;
    if (survey->measure.backward)
        us += measured.backward.us - survey->fits.backward.t0;
    *ret_us = us / copies;
    return 0;
}

int profile_survey_documents(const struct profile_survey *survey, uint32_t cp,
                             struct profile_document *documents, uint32_t *ret_count,
                             ballast_attention_error *error)
{
    struct profile_range lengths = survey->options->kv;
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile_range_count(lengths); i++) {
        uint32_t length = profile_range_at(lengths, i);
        uint32_t keys = (uint32_t)((uint64_t)length * (cp + 1) / (2 * cp)); /* met on average */
        double us = 0;
        if (length % cp)
            continue;
        int status = measure_document(survey, length, cp, &us, error);
        if (status)
            return status;
        if (us != 0)
            documents[count++] =
                (struct profile_document){ length / cp, cp == 1 ? length : keys, us };
    }
    *ret_count = count;
    return 0;
}

int profile_survey_packs(struct profile_survey *survey, const struct profile_lengths *lengths,
                         uint32_t cp, ballast_attention_error *error)
{
    size_t position = 0;
    for (uint32_t i = 0; i < survey->options->packs; i++) {
        struct profile_pack pack = { 0 };
        struct profile_measured measured = { 0 };
        if (survey->pack_count == PROFILE_MAX_PACKS)
            return 0;
        int status =
            profile_lengths_pack(lengths, &position, survey->options->window, cp, 0, &pack, error);
        if (!status)
            status = profile_measure_pack(&survey->measure, &pack, &measured, error);
        profile_pack_fini(&pack);
        if (status)
            return status;
        survey->forward_packs[survey->pack_count] = measured.forward;
        survey->backward_packs[survey->pack_count++] = measured.backward;
    }
    return 0;
}
