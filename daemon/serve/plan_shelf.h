/*
 * Plans kept by step. At least `least` of them find room whatever their size, then as many as fit
 * into limit_bytes, `most` at the utmost: a step asked for again, by another rank or by a job that
 * has gone back, need not be planned again.
 *
 * Thread: one at a time. Owner: the plan store.
 */
#ifndef BALLAST_SERVE_PLAN_SHELF_H
#define BALLAST_SERVE_PLAN_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/hash_table.h"
#include "serve/list.h"
#include "serve/shared_plan.h"

/* How much a plan is needed. */
enum plan_need { PLAN_MAY_GO, PLAN_GOES_LAST, PLAN_STAYS };

typedef enum plan_need plan_need_of(void *context, uint64_t step);

struct plan_shelf_limits {
    size_t least, most;
    size_t bytes;
};

struct plan_shelf {
    struct hash_table by_step;
    struct list used; /* the least recently used first */
    size_t bytes;
    struct plan_shelf_limits limits;
};

/* EX_OSERR when out of memory. */
int plan_shelf_init(struct plan_shelf *shelf, struct plan_shelf_limits limits, struct error *err);

/* Lets go of every plan. A zeroed shelf is accepted. */
void plan_shelf_fini(struct plan_shelf *shelf);

/* Lets go of the plans of `step` and later ones. */
void plan_shelf_drop_from(struct plan_shelf *shelf, uint64_t step);

bool plan_shelf_has(const struct plan_shelf *shelf, uint64_t step);

/* A reference of the caller's, and the plan counts as used just now; NULL: it is not here. */
struct shared_plan *plan_shelf_use(struct plan_shelf *shelf, uint64_t step);

/*
 * Puts a plan in, in place of an earlier one of its step. To make room others go, the least
 * recently used first, those that go last after all that may go. True: the caller's reference has
 * been taken over. False: nothing may go, or no memory; it is still the caller's.
 */
bool plan_shelf_put(struct plan_shelf *shelf, struct shared_plan *plan, plan_need_of *need,
                    void *context);

#endif
