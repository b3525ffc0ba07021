#include "plan/auto_thresholds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/wide.h"
#include "plan/threshold_trial.h"

#define MOST_PIECES 100000u /* of the sample: some 70 trials of it take about a second */
#define MOST_STEPS 512u     /* global batches of the sample */
#define MOST_CANDIDATES 16u /* lengths to choose thresholds from */
#define BEAM 3u             /* of the best settings of n levels, those of n + 1 levels are made */

/* Eighths of S, and shares of all tokens that lie in pieces of that length and more. */
static const unsigned eighths[] = { 1, 2, 3, 4, 5, 6 };
static const unsigned token_shares[] = { 2, 4, 8, 16, 32 }; /* one part in */

#define LENGTH_OF(array) (sizeof(array) / sizeof *(array))

/* What is being searched. */
struct search {
    const struct piece *pieces;
    size_t count;
    const struct pack_shape *shape;
    const struct pack_options *options;
    uint64_t candidates[MOST_CANDIDATES]; /* rising */
    unsigned candidate_count;
    struct auto_thresholds *choice;
};

/* ---- lengths to choose from ---- */

static int rising(const void *left, const void *right)
{
    uint64_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

static void add_shares(struct search *search, const uint64_t *lengths, uint64_t tokens)
{
    uint64_t above = 0;
    size_t share = LENGTH_OF(token_shares);
    for (size_t i = search->count; i-- > 0 && share > 0;) {
        above += lengths[i];
        for (; share > 0 && above * token_shares[share - 1] >= tokens; share--)
            search->candidates[search->candidate_count++] = lengths[i];
    }
}

/* Sorted, without those that no piece reaches, or that lie within a tenth of the one below. */
static void tidy_candidates(struct search *search, uint64_t longest)
{
    uint64_t *candidates = search->candidates;
    qsort(candidates, search->candidate_count, sizeof *candidates, rising);
    unsigned kept = 0;
    for (unsigned i = 0; i < search->candidate_count; i++)
        if (candidates[i] > 1 && candidates[i] <= longest &&
            (kept == 0 || candidates[i] * 10 >= candidates[kept - 1] * 11))
            candidates[kept++] = candidates[i];
    search->candidate_count = kept;
}

static int list_candidates(struct search *search, struct error *err)
{
    uint64_t *lengths = malloc((search->count + 1) * sizeof *lengths), tokens = 0;
    if (!lengths)
        return error_memory(err, "choosing outlier thresholds");
    for (size_t i = 0; i < search->count; i++) {
        lengths[i] = search->pieces[i].length;
        tokens += lengths[i];
    }
    qsort(lengths, search->count, sizeof *lengths, rising);
    for (size_t i = 0; i < LENGTH_OF(eighths); i++)
        search->candidates[search->candidate_count++] =
            (uint64_t)search->shape->window * eighths[i] / 8;
    add_shares(search, lengths, tokens);
    tidy_candidates(search, search->count ? lengths[search->count - 1] : 0);
    free(lengths);
    return 0;
}

/* ---- trials ---- */

static bool tried(const struct auto_thresholds *choice, const struct threshold_trial *trial)
{
    for (size_t i = 0; i < choice->trial_count; i++)
        if (choice->trials[i].count == trial->count &&
            memcmp(choice->trials[i].thresholds, trial->thresholds, sizeof trial->thresholds) == 0)
            return true;
    return false;
}

static int add_trial(struct search *search, struct threshold_trial trial, struct error *err)
{
    struct auto_thresholds *choice = search->choice;
    if (tried(choice, &trial))
        return 0;
    if (!grow(choice->trials, &choice->trial_capacity, choice->trial_count + 1))
        return error_memory(err, "choosing outlier thresholds");
    int status = threshold_trial_run(&trial, search->pieces, search->count, search->shape,
                                     search->options, &choice->steps, err);
    if (status == 0)
        choice->trials[choice->trial_count++] = trial;
    return status;
}

/* Less score first, then fewer levels, then fewer pieces that wait: no two are equal. */
static int better_first(const void *left, const void *right)
{
    const struct threshold_trial *a = left, *b = right;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (unsigned i = 0; i < a->count; i++)
        if (a->thresholds[i] != b->thresholds[i])
            return a->thresholds[i] > b->thresholds[i] ? -1 : 1;
    return 0;
}

static void sort_trials(struct auto_thresholds *choice)
{
    qsort(choice->trials, choice->trial_count, sizeof *choice->trials, better_first);
}

/* `base` and one more threshold; false if it has that one already. */
static bool extend(struct threshold_trial *base, uint64_t threshold)
{
    unsigned at = base->count;
    for (; at > 0 && base->thresholds[at - 1] >= threshold; at--)
        if (base->thresholds[at - 1] == threshold)
            return false;
    for (unsigned i = base->count; i > at; i--)
        base->thresholds[i] = base->thresholds[i - 1];
    base->thresholds[at] = threshold;
    base->count++;
    return true;
}

/* The best trials of `levels` thresholds that pieces reach, at most BEAM. */
static unsigned best_of_level(const struct search *search, unsigned levels,
                              struct threshold_trial *best)
{
    const struct auto_thresholds *choice = search->choice;
    unsigned found = 0;
    for (size_t i = 0; i < choice->trial_count && found < BEAM; i++)
        if (choice->trials[i].count == levels &&
            choice->trials[i].thresholds[0] <= search->shape->window)
            best[found++] = choice->trials[i];
    return found;
}

static int extend_all(struct search *search, const struct threshold_trial *bases, unsigned count,
                      struct error *err)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned c = 0; c < search->candidate_count; c++) {
            struct threshold_trial trial = bases[i];
            if (!extend(&trial, search->candidates[c]))
                continue;
            int status = add_trial(search, trial, err);
            if (status)
                return status;
        }
    return 0;
}

/* The policy wants more waiting steps than levels. */
static unsigned most_levels(const struct pack_options *options)
{
    return options->max_waiting_steps > AUTO_THRESHOLDS_LEVELS ? AUTO_THRESHOLDS_LEVELS
                                                               : options->max_waiting_steps - 1;
}

static int run_search(struct search *search, struct error *err)
{
    uint64_t unreached = (uint64_t)search->shape->window + 1;
    struct threshold_trial none = { .thresholds = { unreached }, .count = 1 };
    struct threshold_trial bases[BEAM] = { { .count = 0 } };
    unsigned base_count = 1, most = most_levels(search->options);
    int status = list_candidates(search, err);
    if (status == 0)
        status = add_trial(search, none, err);
    for (unsigned levels = 1; levels <= most && status == 0; levels++) {
        status = extend_all(search, bases, base_count, err);
        sort_trials(search->choice);
        base_count = best_of_level(search, levels, bases);
    }
    return status;
}

int auto_thresholds_try(const struct piece *pieces, size_t count, const struct pack_shape *shape,
                        const struct pack_options *options, struct auto_thresholds **ret_choice,
                        struct error *err)
{
    struct auto_thresholds *choice = calloc(1, sizeof *choice);
    if (!choice)
        return error_memory(err, "choosing outlier thresholds");
    choice->pieces = count;
    struct search search = {
        .pieces = pieces, .count = count, .shape = shape, .options = options, .choice = choice
    };
    int status = run_search(&search, err);
    if (status)
        auto_thresholds_free(choice);
    else
        *ret_choice = choice;
    return status;
}

/* ---- the sample ---- */

static int take_sample(struct stream *stream, const struct pack_shape *shape, struct piece **pieces,
                       size_t *ret_count, struct error *err)
{
    uint64_t wanted = (uint64_t)shape->microbatches * shape->window * MOST_STEPS, tokens = 0;
    size_t capacity = 0, count = 0;
    struct piece piece;
    while (count < MOST_PIECES && tokens < wanted && stream_next(stream, &piece)) {
        if (!grow(*pieces, &capacity, count + 1))
            return error_memory(err, "choosing outlier thresholds");
        (*pieces)[count++] = piece;
        tokens += piece.length;
    }
    *ret_count = count;
    return 0;
}

int auto_thresholds_choose(const struct corpus *corpus, const struct stream_options *stream,
                           const struct pack_shape *shape, const struct pack_options *options,
                           struct auto_thresholds **ret_choice, struct error *err)
{
    struct stream *sampled;
    struct piece *pieces = NULL;
    size_t count = 0;
    int status = stream_new(corpus, stream, &sampled, err);
    if (status)
        return status;
    status = take_sample(sampled, shape, &pieces, &count, err);
    stream_free(sampled);
    if (status == 0)
        status = auto_thresholds_try(pieces, count, shape, options, ret_choice, err);
    free(pieces);
    return status;
}

void auto_thresholds_free(struct auto_thresholds *choice)
{
    if (!choice)
        return;
    free(choice->trials);
    free(choice);
}

const char *threshold_trial_text(const struct threshold_trial *trial, uint32_t window, char *text,
                                 size_t bytes)
{
    if (trial->count == 1 && trial->thresholds[0] > window) {
        snprintf(text, bytes, "none");
        return text;
    }
    size_t used = 0;
    for (unsigned i = 0; i < trial->count && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%" PRIu64, i ? ", " : "[",
                                 trial->thresholds[i]);
    if (used < bytes)
        snprintf(text + used, bytes - used, "]");
    return text;
}
