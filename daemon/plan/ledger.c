#include "plan/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void ledger_entry_fini(struct ledger_entry *entry)
{
    free(entry->settings);
    free(entry->source);
    free(entry->shard_name);
    *entry = (struct ledger_entry){ .settings = NULL };
}

const char *ledger_kind_name(enum ledger_kind kind)
{
    static const char *const names[] = {
        [LEDGER_RESHAPE] = "reshape", [LEDGER_SKIP] = "skip", [LEDGER_DROP] = "drop"
    };
    return names[kind];
}

void job_ledger_fini(struct job_ledger *ledger)
{
    for (size_t i = 0; i < ledger->count; i++)
        ledger_entry_fini(&ledger->entries[i]);
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

/* Both names stand in a line, the shard's as its last word or words. */
static int check_drop(const struct ledger_entry *entry, struct error *err)
{
    static const char blanks[] = " \t";
    const char *source = entry->source, *name = entry->shard_name;
    if (!source || !*source || strpbrk(source, blanks) || !name || !*name)
        return error_set(err, EX_USAGE, "a shard to drop needs its source and its name");
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return error_set(err, EX_USAGE,
                             "a shard of source %.80s has control characters in its name, which "
                             "the ledger cannot hold: rename it, and start again",
                             source);
    return 0;
}

static int check_entry(const struct job_ledger *ledger, const struct ledger_entry *entry,
                       uint64_t least, struct error *err)
{
    if (ledger->count == LEDGER_MOST_ENTRIES)
        return error_set(err, EX_USAGE, "the ledger holds %d entries, and cannot hold more",
                         LEDGER_MOST_ENTRIES);
    if (entry->step < least)
        return error_set(err, EX_USAGE,
                         "step %llu lies before step %llu, from which the last entry of the ledger "
                         "holds: that is history, and later steps rest on it",
                         (unsigned long long)entry->step, (unsigned long long)least);
    switch (entry->kind) {
    case LEDGER_SKIP:
        return check_skip(entry, err);
    case LEDGER_DROP:
        return check_drop(entry, err);
    case LEDGER_RESHAPE:
        break;
    }
    return check_reshape(entry, err);
}

/* NULL stays NULL; false when memory is out. */
static bool copy_text(const char *from, char **to)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

static bool copy_entry(const struct ledger_entry *from, struct ledger_entry *to)
{
    *to = *from;
    bool settings = copy_text(from->settings, &to->settings);
    bool source = copy_text(from->source, &to->source);
    bool name = copy_text(from->shard_name, &to->shard_name);
    return settings && source && name;
}

static int add_at(struct job_ledger *ledger, size_t place, const struct ledger_entry *entry,
                  struct error *err)
{
    struct ledger_entry copy;
    if (!copy_entry(entry, &copy) || !grow(ledger->entries, &ledger->capacity, ledger->count + 1)) {
        ledger_entry_fini(&copy);
        return error_memory(err, "adding to the ledger");
    }
    memmove(&ledger->entries[place + 1], &ledger->entries[place],
            (ledger->count - place) * sizeof *ledger->entries);
    ledger->entries[place] = copy;
    ledger->count++;
    return 0;
}

int job_ledger_append(struct job_ledger *ledger, const struct ledger_entry *entry,
                      struct error *err)
{
    size_t count = ledger->count;
    uint64_t least = count ? ledger->entries[count - 1].step : ledger->origin.step;
    int status = check_entry(ledger, entry, least, err);
    return status ? status : add_at(ledger, count, entry, err);
}

int job_ledger_insert(struct job_ledger *ledger, const struct ledger_entry *entry,
                      struct error *err)
{
    size_t place = 0;
    int status = check_entry(ledger, entry, ledger->origin.step, err);
    if (status)
        return status;
    while (place < ledger->count && ledger->entries[place].step <= entry->step)
        place++;
    return add_at(ledger, place, entry, err);
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

bool job_ledger_drops(const struct job_ledger *ledger, const char *source, size_t shard,
                      uint64_t *ret_step)
{
    for (size_t i = 0; i < ledger->count; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (entry->kind != LEDGER_DROP || entry->shard != shard ||
            strcmp(entry->source, source) != 0)
            continue;
        *ret_step = entry->step;
        return true;
    }
    return false;
}
