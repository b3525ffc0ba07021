#include "state/where_start.h"

#include "state/snapshot.h"

/* The job's own, of this step or another: see the naming of snapshots in ARCHITECTURE.md. */
static bool is_ours(const struct planner *planner, const struct state_entry *entry)
{
    const struct job_ledger *ledger = &planner_history(planner)->ledger;
    return digest_equal(entry->job,
                        planner_digests(planner)[job_ledger_before(ledger, entry->step)]);
}

/* Goes there if the document has not begun by then. */
static int try_entry(const struct where *where, struct planner *planner,
                     const struct corpus *corpus, const struct state_directory *directory,
                     const struct state_entry *entry, bool *ret_there)
{
    struct planner_state state = { 0 };
    uint64_t last = entry->step ? entry->step - 1 : 0;
    uint32_t window = history_config(planner_history(planner), last)->context_window;
    int status = state_directory_read(directory, entry, &state, NULL);
    if (!status)
        status = snapshot_fits(&state, corpus, window, NULL);
    if (!status && where_may_start(where, state.cursors)) {
        status = planner_restore(planner, &state, NULL);
        *ret_there = status == 0;
    }
    planner_state_fini(&state);
    return status == EX_OSERR ? status : 0;
}

/* The furthest of ours before `step`; NULL when there is none. */
static const struct state_entry *furthest_before(const struct planner *planner,
                                                 const struct state_list *list, uint64_t step)
{
    const struct state_entry *best = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].step < step && is_ours(planner, &list->entries[i]) &&
            (!best || list->entries[i].step > best->step))
            best = &list->entries[i];
    return best;
}

int where_start(const struct where *where, struct planner *planner, const struct corpus *corpus,
                const struct state_directory *directory, struct error *err)
{
    struct state_list list = { 0 };
    bool there = false;
    int status = 0;
    if (directory->fd < 0 || state_directory_list(directory, &list, NULL))
        return 0;
    const struct state_entry *entry = furthest_before(planner, &list, UINT64_MAX);
    while (entry && !there && !status) {
        status = try_entry(where, planner, corpus, directory, entry, &there);
        entry = furthest_before(planner, &list, entry->step);
    }
    state_list_fini(&list);
    return status ? error_memory(err, "reading snapshots") : 0;
}
