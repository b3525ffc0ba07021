#include "serve/lineage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"

static int digest_ledger(const struct job_ledger *ledger, struct digest *ret_digest,
                         struct error *err)
{
    char *text;
    size_t bytes;
    int status = job_ledger_encode(ledger, &text, &bytes, err);
    if (status)
        return status;
    *ret_digest = digest_chain((struct digest){ 0 }, text, bytes);
    free(text);
    return 0;
}

int lineage_new(struct history *history, const struct planner *planner, struct lineage *former,
                struct lineage **ret_lineage, struct error *err)
{
    size_t count = history->ledger.count + 1;
    struct lineage *lineage = calloc(1, sizeof *lineage);
    struct digest *digests = calloc(count, sizeof *digests);
    int status = lineage && digests ? digest_ledger(&history->ledger, &lineage->ledger, err)
                                    : error_memory(err, "opening the ledger");
    if (status) {
        free(lineage);
        free(digests);
        return status;
    }
    memcpy(digests, planner_digests(planner), count * sizeof *digests);
    lineage->history = history;
    lineage->digests = digests;
    lineage->former = former;
    *ret_lineage = lineage;
    return 0;
}

void lineage_free(struct lineage *lineage)
{
    while (lineage) {
        struct lineage *former = lineage->former;
        history_free(lineage->history);
        free(lineage->digests);
        free(lineage);
        lineage = former;
    }
}

struct digest lineage_before(const struct lineage *lineage, uint64_t next_step)
{
    return lineage->digests[job_ledger_before(&lineage->history->ledger, next_step)];
}

struct digest lineage_digest(const struct lineage *lineage, uint64_t step)
{
    return lineage_before(lineage, step < UINT64_MAX ? step + 1 : step);
}

static bool has_digest(const struct lineage *lineage, struct digest digest,
                       const struct config **ret_config)
{
    const struct history *history = lineage->history;
    for (size_t i = 0; i <= lineage_entries(lineage); i++) {
        if (!digest_equal(lineage->digests[i], digest))
            continue;
        *ret_config = history->epochs[history_epoch_after(history, i)].config;
        return true;
    }
    return false;
}

bool lineage_knows(const struct lineage *lineage, struct digest digest,
                   const struct config **ret_config)
{
    for (; lineage; lineage = lineage->former)
        if (has_digest(lineage, digest, ret_config))
            return true;
    return false;
}

bool lineage_overrules(const struct lineage *lineage, struct digest job, uint64_t step)
{
    return !digest_equal(lineage_digest(lineage, step), job);
}

uint64_t lineage_layout(const struct lineage *lineage, uint64_t step, uint64_t *ret_until)
{
    const struct history *history = lineage->history;
    size_t first = history_epoch(history, step), end = first + 1;
    const struct config *config = history->epochs[first].config;
    while (first > 0 && config_same_layout(history->epochs[first - 1].config, config))
        first--;
    while (end < history->count && config_same_layout(history->epochs[end].config, config))
        end++;
    *ret_until = end < history->count ? history->epochs[end].from_step : 0;
    return history->epochs[first].from_step;
}

const char *lineage_layout_text(const struct lineage *lineage, uint64_t step, char *text,
                                size_t bytes)
{
    uint64_t until, from = lineage_layout(lineage, step, &until);
    const struct config *config = history_config(lineage->history, step);
    char last[32] = "the last";
    if (until)
        snprintf(last, sizeof last, "%" PRIu64, until - 1);
    snprintf(text, bytes,
             "steps %" PRIu64
             " to %s have dp %u, cp %u, %u micro-batches a replica, context window "
             "%u, at most %u tokens a micro-batch",
             from, last, config->parallel.dp, config->parallel.cp, config->parallel.microbatches,
             config->context_window, config->max_sequence_length);
    return text;
}

void lineage_extremes(const struct lineage *lineage, uint32_t *ret_sequence,
                      uint32_t *ret_microbatches)
{
    uint32_t sequence = 0, microbatches = 0;
    for (size_t i = 0; i < lineage->history->count; i++) {
        const struct config *config = lineage->history->epochs[i].config;
        if (config->max_sequence_length > sequence)
            sequence = config->max_sequence_length;
        if (config_step_microbatches(config) > microbatches)
            microbatches = config_step_microbatches(config);
    }
    *ret_sequence = sequence;
    *ret_microbatches = microbatches;
}
