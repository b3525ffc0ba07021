#include "plan/history.h"

#include <stdlib.h>

#include "config/settings.h"

static size_t count_reshapes(const struct job_ledger *ledger)
{
    size_t count = 0;
    for (size_t i = 0; i < ledger->count; i++)
        count += ledger->entries[i].kind == LEDGER_RESHAPE;
    return count;
}

static int add_epoch(struct history *history, const struct config *config, uint64_t from_step,
                     size_t entries, const char *settings, struct error *err)
{
    struct config *changed = NULL;
    int status = settings ? config_with_settings(config, settings, &changed, err) : 0;
    if (status && err)
        error_prefix(err, "the ledger, from step %llu on", (unsigned long long)from_step);
    if (status)
        return status;
    history->epochs[history->count++] =
        (struct history_epoch){ from_step, changed ? changed : config, entries };
    return 0;
}

static int add_epochs(struct history *history, const struct config *config, struct error *err)
{
    const struct job_ledger *ledger = &history->ledger;
    int status = add_epoch(history, config, 0, 0, ledger->settings, err);
    for (size_t i = 0; i < ledger->count && !status; i++)
        if (ledger->entries[i].kind == LEDGER_RESHAPE)
            status = add_epoch(history, config, ledger->entries[i].step, i + 1,
                               ledger->entries[i].settings, err);
    return status;
}

int history_new(const struct config *config, const struct job_ledger *ledger,
                struct history **ret_history, struct error *err)
{
    struct history *history = calloc(1, sizeof *history);
    if (!history)
        return error_memory(err, "opening the ledger");
    int status = ledger ? job_ledger_copy(ledger, &history->ledger, err) : 0;
    if (!status) {
        history->epochs = calloc(1 + count_reshapes(&history->ledger), sizeof *history->epochs);
        status = history->epochs ? add_epochs(history, config, err)
                                 : error_memory(err, "opening the ledger");
    }
    if (status) {
        history_free(history);
        return status;
    }
    *ret_history = history;
    return 0;
}

void history_free(struct history *history)
{
    if (!history)
        return;
    /* The first is the caller's own where the ledger has no settings for it. */
    for (size_t i = history->ledger.settings ? 0 : 1; history->epochs && i < history->count; i++)
        config_free((struct config *)(uintptr_t)history->epochs[i].config);
    free(history->epochs);
    job_ledger_fini(&history->ledger);
    free(history);
}

size_t history_epoch(const struct history *history, uint64_t step)
{
    size_t index = history->count - 1;
    while (index > 0 && history->epochs[index].from_step > step)
        index--;
    return index;
}

size_t history_epoch_after(const struct history *history, size_t entries)
{
    size_t index = history->count - 1;
    while (index > 0 && history->epochs[index].entries > entries)
        index--;
    return index;
}
