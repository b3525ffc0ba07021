/* ballast-profile: measures a GPU and writes the cost table that ballastd plans by. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "kernels/profile/fail.h"
#include "kernels/profile/linear.h"
#include "kernels/profile/options.h"
#include "kernels/profile/survey.h"

static const char *type_name(ballast_attention_type type)
{
    return type == BALLAST_ATTENTION_F16 ? "fp16" : "bf16";
}

static void write_head(FILE *out, const struct profile_options *options,
                       const struct profile_device_facts *facts)
{
    char kernel[64];
    snprintf(kernel, sizeof kernel, "ballast attention %s%s", ballast_attention_version(),
             facts->emulated ? ", emulated on the CPU" : "");
    const struct profile_table_head head = {
        .device = facts->name,
        .kernel = kernel,
        .dtype = type_name(options->type),
        .heads = options->model.heads,
        .head_dim = options->model.head_dim,
        .layers = options->model.layers,
        .training = options->training,
        .emulated = facts->emulated,
        .linear = profile_linear_source(options),
    };
    profile_table_write_head(out, &head);
}

static void write_fits(FILE *out, const struct profile_survey *survey)
{
    struct profile_fit_error packs =
        profile_fit_check(&survey->fits.forward, survey->forward_packs, survey->pack_count);
    profile_table_write_fit(out, "forward", &survey->fits.forward, &survey->forward_on_grid,
                            &packs);
    if (!survey->measure.backward)
        return;
    packs = profile_fit_check(&survey->fits.backward, survey->backward_packs, survey->pack_count);
    profile_table_write_fit(out, "backward", &survey->fits.backward, &survey->backward_on_grid,
                            &packs);
}

static int write_rows(FILE *out, struct profile_survey *survey, uint32_t tp,
                      ballast_attention_error *error)
{
    const struct profile_options *options = survey->options;
    double linear = 0;
    int status = profile_linear(survey->measure.device, options, tp, &linear, error);
    for (uint32_t i = 0; !status && i < options->cp.count; i++) {
        struct profile_document documents[PROFILE_MAX_LENGTHS_OF_AXIS];
        uint32_t count = 0, cp = options->cp.items[i];
        status = profile_survey_documents(survey, cp, documents, &count, error);
        if (status)
            return status;
        for (uint32_t d = 0; d < count; d++)
            documents[d].us *= options->model.layers;
        size_t changed = profile_table_write_attention(out, tp, cp, documents, count);
        if (changed)
            fprintf(stderr, "tp %u cp %u: %zu short documents drowned in noise\n", tp, cp, changed);
        profile_table_write_linear(out, tp, cp, options->linear_tokens, linear);
    }
    return status;
}

static int measure_packs(struct profile_survey *survey, const struct profile_lengths *lengths,
                         ballast_attention_error *error)
{
    const struct profile_sizes *cp = &survey->options->cp;
    int status = 0;
    for (uint32_t i = 0; !status && lengths->count && i < cp->count; i++)
        status = profile_survey_packs(survey, lengths, cp->items[i], error);
    return status;
}

/* Opens `path` for writing, standard output for NULL. */
static int open_out(const char *path, FILE **ret_out, ballast_attention_error *error)
{
    FILE *out = path ? fopen(path, "we") : stdout;
    if (!out)
        return profile_fail(error, EX_CANTCREAT, "%s: cannot write: %s", path, strerror(errno));
    *ret_out = out;
    return 0;
}

/* A full disk shows when the stream is closed. */
static int close_out(FILE *out, const char *path, ballast_attention_error *error)
{
    int failed = ferror(out) | fflush(out);
    if (out != stdout)
        failed |= fclose(out);
    if (!failed)
        return 0;
    return profile_fail(error, EX_IOERR, "%s: cannot write", path ? path : "standard output");
}

static int write_grid(const struct profile_survey *survey, ballast_attention_error *error)
{
    FILE *out;
    const char *path = survey->options->grid;
    int status = path ? open_out(path, &out, error) : 0;
    if (status || !path)
        return status;
    profile_grid_write_columns(out);
    for (uint32_t i = 0; i < survey->cell_count; i++)
        profile_grid_write(out, &survey->cells[i], survey->options->model.head_dim, &survey->fits);
    return close_out(out, path, error);
}

/* The grid and the fit are of the first tp: a tile costs the same for each. */
static int survey_all(struct profile_survey *survey, const struct profile_lengths *lengths,
                      FILE *out, ballast_attention_error *error)
{
    const struct profile_options *options = survey->options;
    profile_survey_set_tp(survey, options->tp.items[0]);
    int status = profile_survey_grid(survey, error);
    if (!status)
        status = write_grid(survey, error);
    if (!status)
        status = measure_packs(survey, lengths, error);
    if (status)
        return status;
    if (survey->short_cells)
        fprintf(stderr, "%u cells of the grid have fewer than %u waves: memory ends before\n",
                survey->short_cells, options->waves);
    write_head(out, options, profile_device_get_facts(survey->measure.device));
    write_fits(out, survey);
    write_fits(stderr, survey);
    profile_table_write_columns(out);
    for (uint32_t i = 0; !status && i < options->tp.count; i++) {
        profile_survey_set_tp(survey, options->tp.items[i]);
        status = write_rows(out, survey, options->tp.items[i], error);
    }
    return status;
}

static int write_table(const struct profile_options *options, struct profile_device *device,
                       const struct profile_lengths *lengths, ballast_attention_error *error)
{
    FILE *out = NULL;
    struct profile_survey *survey = NULL;
    int status = open_out(options->table, &out, error);
    if (status)
        return status;
    status = profile_survey_new(options, device, &survey, error);
    if (!status) {
        status = survey_all(survey, lengths, out, error);
        free(survey);
    }
    ballast_attention_error ignored;
    int closed = close_out(out, options->table, status ? &ignored : error);
    return status ? status : closed;
}

/* What can be wrong is looked at first: measuring takes minutes. */
static int measure(const struct profile_options *options, ballast_attention_error *error)
{
    struct profile_device *device = NULL;
    struct profile_lengths lengths = { 0 };
    int status = profile_linear_check(options, error);
    if (!status && options->lengths)
        status = profile_lengths_read(options->lengths, &lengths, error);
    if (!status)
        status = profile_device_open(&device, error);
    if (!status)
        status = write_table(options, device, &lengths, error);
    profile_device_close(device);
    profile_lengths_fini(&lengths);
    return status;
}

int main(int argc, char *argv[])
{
    struct profile_options options;
    ballast_attention_error error = { "" };
    int status = profile_options_parse(argc, argv, &options, &error);
    if (!status && options.action == PROFILE_HELP)
        fputs(profile_usage, stdout);
    else if (!status && options.action == PROFILE_VERSION)
        printf("ballast-profile %s\n", ballast_attention_version());
    else if (!status)
        status = measure(&options, &error);
    if (status)
        fprintf(stderr, "ballast-profile: %s\n", error.text);
    return status;
}
