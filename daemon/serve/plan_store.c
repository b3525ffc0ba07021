#include "serve/plan_store.h"

#include <pthread.h>
#include <stdlib.h>

#include "serve/hash_table.h"
#include "serve/list.h"
#include "serve/plan_shelf.h"

/* A step that at least one request waits for. */
struct wanted {
    struct hash_link link;
    struct list order; /* plan_store.order, the longest wait first */
    uint64_t count;
    bool failed; /* nobody plans it until it is wanted anew */
};

struct plan_store {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct plan_shelf plans;
    struct hash_table wanted;
    struct list order;
    bool cheapest_next; /* whose turn it is */
    uint32_t steps_ahead;
    bool ahead_failed; /* planning ahead has failed: wait for a request before trying again */
    bool stop, report, snapshot, change;
    struct plan_news news;
    struct plan_store_facts facts;
};

int plan_store_new(uint32_t steps_ahead, size_t spare_bytes, size_t most_wanted,
                   struct plan_store **ret_store, struct error *err)
{
    struct plan_store *store = calloc(1, sizeof *store);
    if (!store)
        return error_memory(err, "making the plan store");
    size_t least = (size_t)steps_ahead + 1 + PLAN_STORE_SPARE;
    struct plan_shelf_limits limits = { least, least + PLAN_STORE_MOST_SPARE, spare_bytes };
    int failed = plan_shelf_init(&store->plans, limits, err);
    if (!failed)
        failed = hash_table_init(&store->wanted, most_wanted, err);
    if (failed) {
        plan_shelf_fini(&store->plans);
        free(store);
        return failed;
    }
    list_init(&store->order);
    store->steps_ahead = steps_ahead;
    store->facts.end = PLAN_STORE_NO_END;
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->work, NULL);
    *ret_store = store;
    return 0;
}

void plan_store_free(struct plan_store *store)
{
    if (!store)
        return;
    plan_shelf_fini(&store->plans);
    struct list *at = store->order.next;
    while (at != &store->order) {
        struct wanted *wanted = list_entry(at, struct wanted, order);
        at = at->next;
        free(wanted);
    }
    hash_table_fini(&store->wanted);
    pthread_cond_destroy(&store->work);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

/* ---- with the lock held ---- */

static struct wanted *wanted_of(const struct plan_store *store, uint64_t step)
{
    struct hash_link *link = hash_table_find(&store->wanted, step);
    return link ? list_entry(link, struct wanted, link) : NULL;
}

static bool is_ahead(const struct plan_store *store, uint64_t step)
{
    return step >= store->facts.front && step - store->facts.front <= store->steps_ahead;
}

static bool want(struct plan_store *store, uint64_t step)
{
    struct wanted *wanted = wanted_of(store, step);
    if (!wanted) {
        wanted = calloc(1, sizeof *wanted);
        if (!wanted)
            return false;
        hash_table_add(&store->wanted, &wanted->link, step);
        list_push_back(&store->order, &wanted->order);
    }
    wanted->count++;
    wanted->failed = false;
    store->ahead_failed = false;
    pthread_cond_signal(&store->work);
    return true;
}

static enum plan_need need_of(void *context, uint64_t step)
{
    const struct plan_store *store = context;
    if (wanted_of(store, step))
        return PLAN_STAYS;
    return is_ahead(store, step) ? PLAN_GOES_LAST : PLAN_MAY_GO;
}

/* ---- the loop's side ---- */

enum plan_answer plan_store_get_or_want(struct plan_store *store, uint64_t step,
                                        struct shared_plan **ret_plan)
{
    pthread_mutex_lock(&store->lock);
    enum plan_answer answer = PLAN_WANTED;
    struct shared_plan *plan = NULL;
    if (step >= store->facts.end) {
        answer = PLAN_AFTER_END;
    } else if ((plan = plan_shelf_use(&store->plans, step))) {
        *ret_plan = plan;
        answer = PLAN_READY;
    } else if (!want(store, step)) {
        answer = PLAN_NO_MEMORY;
    }
    pthread_mutex_unlock(&store->lock);
    return answer;
}

struct shared_plan *plan_store_peek(struct plan_store *store, uint64_t step)
{
    pthread_mutex_lock(&store->lock);
    struct shared_plan *plan = plan_shelf_use(&store->plans, step);
    pthread_mutex_unlock(&store->lock);
    return plan;
}

void plan_store_unwant(struct plan_store *store, uint64_t step)
{
    pthread_mutex_lock(&store->lock);
    struct wanted *wanted = wanted_of(store, step);
    if (wanted && --wanted->count == 0) {
        hash_table_remove(&store->wanted, &wanted->link);
        list_remove(&wanted->order);
        free(wanted);
    }
    pthread_mutex_unlock(&store->lock);
}

void plan_store_begin(struct plan_store *store, uint64_t step)
{
    pthread_mutex_lock(&store->lock);
    store->facts.front = step;
    pthread_mutex_unlock(&store->lock);
}

void plan_store_front(struct plan_store *store, uint64_t step)
{
    pthread_mutex_lock(&store->lock);
    store->facts.has_front = true;
    if (store->facts.front != step) {
        store->facts.front = step;
        pthread_cond_signal(&store->work);
    }
    pthread_mutex_unlock(&store->lock);
}

void plan_store_news(struct plan_store *store, struct plan_news *ret_news)
{
    pthread_mutex_lock(&store->lock);
    *ret_news = store->news;
    store->news = (struct plan_news){ 0 };
    pthread_cond_signal(&store->work);
    pthread_mutex_unlock(&store->lock);
}

void plan_store_facts(struct plan_store *store, struct plan_store_facts *ret_facts)
{
    pthread_mutex_lock(&store->lock);
    *ret_facts = store->facts;
    pthread_mutex_unlock(&store->lock);
}

void plan_store_stop(struct plan_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->stop = true;
    pthread_cond_signal(&store->work);
    pthread_mutex_unlock(&store->lock);
}

void plan_store_request_report(struct plan_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->report = true;
    pthread_cond_signal(&store->work);
    pthread_mutex_unlock(&store->lock);
}

void plan_store_request_snapshot(struct plan_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->snapshot = true;
    pthread_cond_signal(&store->work);
    pthread_mutex_unlock(&store->lock);
}

void plan_store_request_change(struct plan_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->change = true;
    pthread_cond_signal(&store->work);
    pthread_mutex_unlock(&store->lock);
}

/* ---- the planner's side ---- */

static bool can_be_planned(struct plan_store *store, const struct wanted *wanted)
{
    return !wanted->failed && wanted->link.key < store->facts.end &&
           !plan_shelf_has(&store->plans, wanted->link.key);
}

/* The step waited for longest, or the cheapest one. */
static bool choose_wanted(struct plan_store *store, plan_cost *cost, void *context,
                          uint64_t *ret_step)
{
    uint64_t best_cost = UINT64_MAX;
    bool found = false;
    for (struct list *at = store->order.next; at != &store->order; at = at->next) {
        const struct wanted *wanted = list_entry(at, struct wanted, order);
        if (!can_be_planned(store, wanted))
            continue;
        uint64_t its_cost = store->cheapest_next ? cost(context, wanted->link.key) : 0;
        if (found && its_cost >= best_cost)
            continue;
        found = true;
        best_cost = its_cost;
        *ret_step = wanted->link.key;
        if (!store->cheapest_next)
            break;
    }
    if (found)
        store->cheapest_next = !store->cheapest_next;
    return found;
}

static bool choose_ahead(struct plan_store *store, uint64_t *ret_step)
{
    if (store->ahead_failed)
        return false;
    for (uint64_t i = 0; i <= store->steps_ahead; i++) {
        uint64_t step = store->facts.front + i;
        if (step < store->facts.front || step >= store->facts.end)
            return false;
        if (!plan_shelf_has(&store->plans, step)) {
            *ret_step = step;
            return true;
        }
    }
    return false;
}

static bool choose(struct plan_store *store, plan_cost *cost, void *context, uint64_t *ret_step,
                   enum plan_choice *ret_choice)
{
    if (store->stop) {
        *ret_choice = PLAN_CHOICE_STOP;
        return true;
    }
    if (store->report) {
        store->report = false;
        *ret_choice = PLAN_CHOICE_REPORT;
        return true;
    }
    if (store->change) {
        store->change = false;
        *ret_choice = PLAN_CHOICE_CHANGE;
        return true;
    }
    if (store->snapshot) {
        store->snapshot = false;
        *ret_choice = PLAN_CHOICE_SNAPSHOT;
        return true;
    }
    if (store->news.step_count == PLAN_STORE_NEWS)
        return false;
    *ret_choice = PLAN_CHOICE_STEP;
    return choose_wanted(store, cost, context, ret_step) || choose_ahead(store, ret_step);
}

enum plan_choice plan_store_choose(struct plan_store *store, plan_cost *cost, void *context,
                                   uint64_t *ret_step)
{
    enum plan_choice choice;
    pthread_mutex_lock(&store->lock);
    while (!choose(store, cost, context, ret_step, &choice)) {
        store->facts.idle = true;
        pthread_cond_wait(&store->work, &store->lock);
    }
    store->facts.idle = false;
    store->facts.slices++;
    if (choice == PLAN_CHOICE_STEP)
        store->facts.target = *ret_step;
    pthread_mutex_unlock(&store->lock);
    return choice;
}

void plan_store_progress(struct plan_store *store, uint64_t at, bool planned)
{
    pthread_mutex_lock(&store->lock);
    store->facts.at = at;
    store->facts.made += planned;
    pthread_mutex_unlock(&store->lock);
}

void plan_store_alive(struct plan_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->facts.slices++;
    pthread_mutex_unlock(&store->lock);
}

bool plan_store_keeps(struct plan_store *store, uint64_t step)
{
    pthread_mutex_lock(&store->lock);
    bool keeps = store->news.step_count < PLAN_STORE_NEWS && !plan_shelf_has(&store->plans, step) &&
                 (wanted_of(store, step) || is_ahead(store, step));
    pthread_mutex_unlock(&store->lock);
    return keeps;
}

void plan_store_put(struct plan_store *store, struct shared_plan *shared)
{
    uint64_t step = shared->plan.step;
    pthread_mutex_lock(&store->lock);
    if (store->news.step_count < PLAN_STORE_NEWS &&
        plan_shelf_put(&store->plans, shared, need_of, store)) {
        store->news.steps[store->news.step_count++] = step;
        if (step < store->facts.planned)
            store->facts.replanned++;
        else
            store->facts.planned = step + 1;
        shared = NULL;
    }
    pthread_mutex_unlock(&store->lock);
    shared_plan_unref(shared);
}

void plan_store_forget(struct plan_store *store, uint64_t step)
{
    pthread_mutex_lock(&store->lock);
    plan_shelf_drop_from(&store->plans, step);
    if (store->facts.end >= step) {
        store->facts.end = PLAN_STORE_NO_END;
        store->news.ended = false;
    }
    if (store->facts.planned > step)
        store->facts.planned = step;
    store->ahead_failed = false;
    pthread_mutex_unlock(&store->lock);
}

void plan_store_end(struct plan_store *store, uint64_t step)
{
    pthread_mutex_lock(&store->lock);
    store->facts.end = step;
    store->news.ended = true;
    pthread_mutex_unlock(&store->lock);
}

void plan_store_fail(struct plan_store *store, uint64_t step, const struct error *error)
{
    pthread_mutex_lock(&store->lock);
    for (struct list *at = store->order.next; at != &store->order; at = at->next) {
        struct wanted *wanted = list_entry(at, struct wanted, order);
        if (wanted->link.key >= step)
            wanted->failed = true;
    }
    store->ahead_failed = true;
    store->news.failed = true;
    store->news.failed_step = step;
    store->news.error = *error;
    pthread_mutex_unlock(&store->lock);
}
