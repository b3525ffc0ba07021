#include "serve/plan_shelf.h"

#include <stdlib.h>

struct entry {
    struct hash_link link; /* by_step */
    struct list used;
    struct shared_plan *plan;
};

int plan_shelf_init(struct plan_shelf *shelf, struct plan_shelf_limits limits, struct error *err)
{
    *shelf = (struct plan_shelf){ .limits = limits };
    list_init(&shelf->used);
    return hash_table_init(&shelf->by_step, limits.most, err);
}

static struct entry *entry_of(const struct plan_shelf *shelf, uint64_t step)
{
    struct hash_link *link = hash_table_find(&shelf->by_step, step);
    return link ? list_entry(link, struct entry, link) : NULL;
}

static void drop(struct plan_shelf *shelf, struct entry *entry)
{
    hash_table_remove(&shelf->by_step, &entry->link);
    list_remove(&entry->used);
    shelf->bytes -= entry->plan->bytes;
    shared_plan_unref(entry->plan);
    free(entry);
}

void plan_shelf_fini(struct plan_shelf *shelf)
{
    if (!shelf->by_step.buckets)
        return;
    while (!list_empty(&shelf->used))
        drop(shelf, list_entry(shelf->used.next, struct entry, used));
    hash_table_fini(&shelf->by_step);
}

void plan_shelf_drop_from(struct plan_shelf *shelf, uint64_t step)
{
    struct list *at = shelf->used.next;
    while (at != &shelf->used) {
        struct entry *entry = list_entry(at, struct entry, used);
        at = at->next;
        if (entry->link.key >= step)
            drop(shelf, entry);
    }
}

bool plan_shelf_has(const struct plan_shelf *shelf, uint64_t step)
{
    return entry_of(shelf, step) != NULL;
}

struct shared_plan *plan_shelf_use(struct plan_shelf *shelf, uint64_t step)
{
    struct entry *entry = entry_of(shelf, step);
    if (!entry)
        return NULL;
    list_remove(&entry->used);
    list_push_back(&shelf->used, &entry->used);
    return shared_plan_ref(entry->plan);
}

static bool is_full(const struct plan_shelf *shelf, size_t bytes)
{
    const struct plan_shelf_limits *limits = &shelf->limits;
    size_t count = shelf->by_step.count;
    return count >= limits->most ||
           (count >= limits->least && shelf->bytes + bytes > limits->bytes);
}

/* The plan that is missed least, or NULL when all must stay. */
static struct entry *least_needed(struct plan_shelf *shelf, plan_need_of *need, void *context)
{
    struct entry *last = NULL;
    for (struct list *at = shelf->used.next; at != &shelf->used; at = at->next) {
        struct entry *entry = list_entry(at, struct entry, used);
        switch (need(context, entry->link.key)) {
        case PLAN_MAY_GO:
            return entry;
        case PLAN_GOES_LAST:
            last = last ? last : entry;
            break;
        case PLAN_STAYS:
            break;
        }
    }
    return last;
}

static bool make_room(struct plan_shelf *shelf, size_t bytes, plan_need_of *need, void *context)
{
    while (is_full(shelf, bytes)) {
        struct entry *entry = least_needed(shelf, need, context);
        if (!entry)
            return false;
        drop(shelf, entry);
    }
    return true;
}

bool plan_shelf_put(struct plan_shelf *shelf, struct shared_plan *plan, plan_need_of *need,
                    void *context)
{
    uint64_t step = plan->plan.step;
    struct entry *entry = entry_of(shelf, step);
    if (entry)
        drop(shelf, entry);
    if (!make_room(shelf, plan->bytes, need, context))
        return false;
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return false;
    entry->plan = plan;
    hash_table_add(&shelf->by_step, &entry->link, step);
    list_push_back(&shelf->used, &entry->used);
    shelf->bytes += plan->bytes;
    return true;
}
