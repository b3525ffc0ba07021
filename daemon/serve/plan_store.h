/*
 * Planned steps, and the demand for more: where the loop thread and the planner thread meet.
 *
 * The loop asks for steps (`plan_store_get_or_want`) and says where the job stands (`front`); the
 * planner chooses what to plan next (`plan_store_choose`), puts plans in, and reports END and
 * errors. What happened is news, which the loop collects.
 *
 * Bounded: steps_ahead + 1 + PLAN_STORE_SPARE plans are held, more while all are within
 * spare_bytes, PLAN_STORE_MOST_SPARE more at the utmost. The least recently used goes first; steps
 * that somebody waits for and those just ahead of the job are never dropped. The planner pauses
 * while PLAN_STORE_NEWS plans have not been collected.
 *
 * Threads: any; one mutex. Owner: the server. Teardown: plan_store_stop, join the planner thread,
 * plan_store_free.
 */
#ifndef BALLAST_SERVE_PLAN_STORE_H
#define BALLAST_SERVE_PLAN_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/shared_plan.h"

#define PLAN_STORE_SPARE 32
#define PLAN_STORE_MOST_SPARE 1024
#define PLAN_STORE_NEWS 16
#define PLAN_STORE_NO_END UINT64_MAX /* no job has that many steps */

struct plan_store; /* opaque */

/* `most_wanted`: about how many different steps are waited for at once. */
int plan_store_new(uint32_t steps_ahead, size_t spare_bytes, size_t most_wanted,
                   struct plan_store **ret_store, struct error *err);
void plan_store_free(struct plan_store *store);

/* ---- the loop's side ---- */

enum plan_answer {
    PLAN_READY,  /* *ret_plan holds a reference */
    PLAN_WANTED, /* not there; counted as wanted until plan_store_unwant */
    PLAN_AFTER_END,
    PLAN_NO_MEMORY
};

enum plan_answer plan_store_get_or_want(struct plan_store *store, uint64_t step,
                                        struct shared_plan **ret_plan);

/* A reference to the plan, or NULL; wants nothing. */
struct shared_plan *plan_store_peek(struct plan_store *store, uint64_t step);

/* Takes back one PLAN_WANTED. */
void plan_store_unwant(struct plan_store *store, uint64_t step);

/* Before anything else: the first step that there is. */
void plan_store_begin(struct plan_store *store, uint64_t step);

/* The job stands at `step`: plan front .. front + steps_ahead when nobody waits. */
void plan_store_front(struct plan_store *store, uint64_t step);

struct plan_news {
    uint64_t steps[PLAN_STORE_NEWS]; /* put since the last time */
    size_t step_count;
    bool ended;  /* plan_store_end was called; see `end` */
    bool failed; /* planning failed at failed_step, as `error` says */
    uint64_t failed_step;
    struct error error;
};

/* Collects what happened since the last call. */
void plan_store_news(struct plan_store *store, struct plan_news *ret_news);

struct plan_store_facts {
    uint64_t end;       /* the first step that does not exist, or PLAN_STORE_NO_END */
    uint64_t planned;   /* the furthest step planned, plus 1 */
    uint64_t replanned; /* plans made of steps before the furthest one */
    uint64_t made;      /* steps planned, whether anybody wanted them or not */
    uint64_t at;        /* the next step that the planner would plan */
    uint64_t target;    /* the step it is on its way to */
    uint64_t front;     /* where the job stands, 0 before has_front */
    bool has_front;
    uint64_t slices; /* turns of the planner; stands still when it hangs */
    bool idle;       /* the planner has nothing to do */
};

void plan_store_facts(struct plan_store *store, struct plan_store_facts *ret_facts);

/* Ends every wait inside plan_store_choose. */
void plan_store_stop(struct plan_store *store);

/* Makes plan_store_choose return PLAN_CHOICE_REPORT once. */
void plan_store_request_report(struct plan_store *store);

/* Makes plan_store_choose return PLAN_CHOICE_SNAPSHOT once. */
void plan_store_request_snapshot(struct plan_store *store);

/* Makes plan_store_choose return PLAN_CHOICE_CHANGE once. */
void plan_store_request_change(struct plan_store *store);

/* ---- the planner's side ---- */

enum plan_choice {
    PLAN_CHOICE_STEP,
    PLAN_CHOICE_REPORT,
    PLAN_CHOICE_SNAPSHOT,
    PLAN_CHOICE_CHANGE,
    PLAN_CHOICE_STOP
};

/* Steps of work before `step` could be planned. Called with the store locked. */
typedef uint64_t plan_cost(void *context, uint64_t step);

/*
 * Waits for something to do. Steps that requests wait for come first: the cheapest and the one
 * waited for longest take turns, so that a far step neither starves the others nor is starved.
 * Then the steps just ahead of the job.
 */
enum plan_choice plan_store_choose(struct plan_store *store, plan_cost *cost, void *context,
                                   uint64_t *ret_step);

/* The planner has planned another step, or gone elsewhere: `at` is what it would plan next. */
void plan_store_progress(struct plan_store *store, uint64_t at, bool planned);

/* The planner is at work on something longer than a step: it does not hang. */
void plan_store_alive(struct plan_store *store);

/* Would this step be kept: is it waited for, or just ahead of the job, and not there yet? */
bool plan_store_keeps(struct plan_store *store, uint64_t step);

/* Takes over the caller's reference. */
void plan_store_put(struct plan_store *store, struct shared_plan *shared);

/* Plans of `step` and later ones, and where the data end, are no longer what they were. */
void plan_store_forget(struct plan_store *store, uint64_t step);

/* The data end before `step`. */
void plan_store_end(struct plan_store *store, uint64_t step);

/* Planning `step` failed: whoever waits for it or a later one is told. */
void plan_store_fail(struct plan_store *store, uint64_t step, const struct error *error);

#endif
