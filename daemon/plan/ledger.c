#include "plan/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static void entry_fini(struct ledger_entry *entry)
{
    free(entry->settings);
}

void job_ledger_fini(struct job_ledger *ledger)
{
    for (size_t i = 0; i < ledger->count; i++)
        entry_fini(&ledger->entries[i]);
    free(ledger->entries);
    free(ledger->settings);
    free(ledger->origin.state);
    *ledger = (struct job_ledger){ 0 };
}

static int check_skip(const struct ledger_entry *entry, struct error *err)
{
    uint64_t first = entry->step, last = entry->last_step;
    if (last < first)
        return error_set(err, EX_USAGE, "steps %llu to %llu: expected the first one first",
                         (unsigned long long)first, (unsigned long long)last);
    if (last - first >= LEDGER_MOST_SKIPPED)
        return error_set(err, EX_USAGE,
                         "steps %llu to %llu are more than %d, which one entry may leave out: use "
                         "several, each from step %llu",
                         (unsigned long long)first, (unsigned long long)last, LEDGER_MOST_SKIPPED,
                         (unsigned long long)first);
    return 0;
}

static int check_reshape(const struct ledger_entry *entry, struct error *err)
{
    if (entry->step == 0)
        return error_set(err, EX_USAGE,
                         "step 0: what holds from there on is the configuration itself; edit it");
    return entry->settings ? 0 : error_set(err, EX_USAGE, "a reshape needs settings");
}

static int check_entry(const struct job_ledger *ledger, const struct ledger_entry *entry,
                       struct error *err)
{
    if (ledger->count == LEDGER_MOST_ENTRIES)
        return error_set(err, EX_USAGE, "the ledger holds %d entries, and cannot hold more",
                         LEDGER_MOST_ENTRIES);
    uint64_t least = ledger->count ? ledger->entries[ledger->count - 1].step : ledger->origin.step;
    if (entry->step < least)
        return error_set(err, EX_USAGE,
                         "step %llu lies before step %llu, from which the last entry of the ledger "
                         "holds: that is history, and later steps rest on it",
                         (unsigned long long)entry->step, (unsigned long long)least);
    return entry->kind == LEDGER_SKIP ? check_skip(entry, err) : check_reshape(entry, err);
}

int job_ledger_append(struct job_ledger *ledger, const struct ledger_entry *entry,
                      struct error *err)
{
    int status = check_entry(ledger, entry, err);
    if (status)
        return status;
    struct ledger_entry copy = *entry;
    copy.settings = entry->settings ? strdup(entry->settings) : NULL;
    if ((entry->settings && !copy.settings) ||
        !grow(ledger->entries, &ledger->capacity, ledger->count + 1)) {
        entry_fini(&copy);
        return error_memory(err, "adding to the ledger");
    }
    ledger->entries[ledger->count++] = copy;
    return 0;
}

static int copy_origin(const struct ledger_origin *from, struct ledger_origin *to,
                       struct error *err)
{
    *to = *from;
    if (!from->state)
        return 0;
    to->state = malloc(from->state_bytes);
    if (!to->state)
        return error_memory(err, "copying the ledger");
    memcpy(to->state, from->state, from->state_bytes);
    return 0;
}

int job_ledger_copy(const struct job_ledger *from, struct job_ledger *to, struct error *err)
{
    to->job = from->job;
    int status = copy_origin(&from->origin, &to->origin, err);
    to->settings = from->settings ? strdup(from->settings) : NULL;
    if (from->settings && !to->settings)
        status = error_memory(err, "copying the ledger");
    for (size_t i = 0; i < from->count && !status; i++)
        status = job_ledger_append(to, &from->entries[i], err);
    if (status)
        job_ledger_fini(to);
    return status;
}

size_t job_ledger_before(const struct job_ledger *ledger, uint64_t next_step)
{
    size_t count = 0;
    while (count < ledger->count && ledger->entries[count].step < next_step)
        count++;
    return count;
}
