/* The plan store: what is planned next, what is kept, and what the loop is told. */
#include <criterion/criterion.h>
#include <string.h>

#include "serve/plan_store.h"

#define AHEAD 4

static struct plan_store *store_of(uint32_t ahead)
{
    struct plan_store *store;
    struct error err = { 0 };
    cr_assert_eq(plan_store_new(ahead, 0, 16, &store, &err), 0, "%s", err.text);
    return store;
}

static struct shared_plan *plan_of(uint64_t step)
{
    struct step_plan plan = { .step = step };
    struct shared_plan *shared;
    cr_assert_eq(shared_plan_new(&plan, (struct digest){ 0 }, NULL, &shared, NULL), 0);
    return shared;
}

static void put(struct plan_store *store, uint64_t step)
{
    struct plan_news news;
    plan_store_put(store, plan_of(step));
    plan_store_news(store, &news);
}

static enum plan_answer ask(struct plan_store *store, uint64_t step)
{
    struct shared_plan *plan = NULL;
    enum plan_answer answer = plan_store_get_or_want(store, step, &plan);
    if (plan)
        cr_assert_eq(plan->plan.step, step);
    shared_plan_unref(plan);
    return answer;
}

static bool holds(struct plan_store *store, uint64_t step)
{
    struct shared_plan *plan = plan_store_peek(store, step);
    shared_plan_unref(plan);
    return plan != NULL;
}

/* As if the planner stood at 0 and nothing were saved. */
static uint64_t distance(void *context, uint64_t step)
{
    (void)context;
    return step;
}

static uint64_t choose(struct plan_store *store)
{
    uint64_t step = UINT64_MAX;
    cr_assert_eq(plan_store_choose(store, distance, NULL, &step), PLAN_CHOICE_STEP);
    return step;
}

Test(plan_store, plans_ahead_of_the_front_in_order)
{
    struct plan_store *store = store_of(AHEAD);
    for (uint64_t step = 0; step <= AHEAD; step++) {
        cr_assert_eq(choose(store), step);
        put(store, step);
    }
    plan_store_front(store, 2);
    cr_assert_eq(choose(store), AHEAD + 1);
    plan_store_front(store, 100);
    cr_assert_eq(choose(store), 100);
    plan_store_free(store);
}

Test(plan_store, what_is_wanted_comes_first)
{
    struct plan_store *store = store_of(AHEAD);
    cr_assert_eq(ask(store, 50), PLAN_WANTED);
    cr_assert_eq(choose(store), 50);
    put(store, 50);
    cr_assert_eq(ask(store, 50), PLAN_READY);
    cr_assert_eq(choose(store), 0, "back to planning ahead");
    plan_store_free(store);
}

Test(plan_store, the_far_and_the_near_take_turns)
{
    struct plan_store *store = store_of(AHEAD);
    ask(store, 1000000000);
    ask(store, 7);
    ask(store, 8);
    uint64_t first = choose(store), second = choose(store), third = choose(store);
    cr_assert_eq(first, third);
    cr_assert((first == 1000000000 && second == 7) || (first == 7 && second == 1000000000));
    plan_store_free(store);
}

Test(plan_store, a_step_is_dropped_when_nobody_waits_any_more)
{
    struct plan_store *store = store_of(AHEAD);
    ask(store, 500);
    ask(store, 500);
    plan_store_unwant(store, 500);
    cr_assert_eq(choose(store), 500, "one still waits");
    plan_store_unwant(store, 500);
    cr_assert_eq(choose(store), 0);
    plan_store_unwant(store, 500);
    plan_store_free(store);
}

Test(plan_store, is_bounded_and_drops_the_least_recently_used)
{
    struct plan_store *store = store_of(AHEAD);
    const uint64_t room = AHEAD + 1 + PLAN_STORE_SPARE;
    for (uint64_t step = 100; step < 100 + room; step++)
        put(store, step);
    cr_assert(holds(store, 100)); /* and that is a use */
    put(store, 1000);
    cr_assert(holds(store, 100));
    cr_assert_not(holds(store, 101));
    uint64_t held = 0;
    for (uint64_t step = 0; step <= 1000; step++)
        held += holds(store, step);
    cr_assert_eq(held, room);
    plan_store_free(store);
}

Test(plan_store, keeps_what_is_wanted_and_what_is_ahead)
{
    struct plan_store *store = store_of(AHEAD);
    ask(store, 77);
    put(store, 77);
    put(store, 3);
    for (uint64_t step = 100; step < 200; step++)
        put(store, step);
    cr_assert(holds(store, 77));
    cr_assert(holds(store, 3));
    plan_store_free(store);
}

Test(plan_store, the_end_is_remembered)
{
    struct plan_store *store = store_of(AHEAD);
    struct plan_news news;
    ask(store, 9);
    ask(store, 30);
    plan_store_end(store, 10);
    plan_store_news(store, &news);
    cr_assert(news.ended);
    cr_assert_eq(ask(store, 10), PLAN_AFTER_END);
    cr_assert_eq(ask(store, UINT64_MAX), PLAN_AFTER_END);
    cr_assert_eq(choose(store), 9, "30 will never be planned");
    struct plan_store_facts facts;
    plan_store_facts(store, &facts);
    cr_assert_eq(facts.end, 10);
    plan_store_free(store);
}

Test(plan_store, a_failure_is_told_and_not_tried_again_until_asked)
{
    struct plan_store *store = store_of(AHEAD);
    struct plan_news news;
    struct error error = { 0 };
    error_set(&error, EX_IOERR, "disk on fire");
    ask(store, 5);
    ask(store, 2);
    plan_store_fail(store, 3, &error);
    plan_store_news(store, &news);
    cr_assert(news.failed);
    cr_assert_eq(news.failed_step, 3);
    cr_assert_str_eq(news.error.text, "disk on fire");
    cr_assert_eq(choose(store), 2, "before the failure");
    cr_assert_eq(choose(store), 2);
    plan_store_unwant(store, 2);
    ask(store, 5);
    cr_assert_eq(choose(store), 5, "asked for anew");
    plan_store_free(store);
}

Test(plan_store, news_tells_of_every_plan_once)
{
    struct plan_store *store = store_of(AHEAD);
    struct plan_news news;
    plan_store_put(store, plan_of(4));
    plan_store_put(store, plan_of(2));
    plan_store_news(store, &news);
    cr_assert_eq(news.step_count, 2);
    cr_assert_eq(news.steps[0], 4);
    cr_assert_eq(news.steps[1], 2);
    plan_store_news(store, &news);
    cr_assert_eq(news.step_count, 0);
    plan_store_free(store);
}

Test(plan_store, plans_that_nobody_collects_are_not_kept)
{
    struct plan_store *store = store_of(AHEAD);
    for (uint64_t step = 0; step < PLAN_STORE_NEWS; step++)
        plan_store_put(store, plan_of(step));
    ask(store, 999);
    cr_assert_not(plan_store_keeps(store, 999));
    plan_store_put(store, plan_of(999));
    cr_assert_not(holds(store, 999));
    struct plan_news news;
    plan_store_news(store, &news);
    cr_assert(plan_store_keeps(store, 999));
    plan_store_free(store);
}

Test(plan_store, counts_what_is_planned_again)
{
    struct plan_store *store = store_of(AHEAD);
    struct plan_store_facts facts;
    put(store, 0);
    put(store, 80);
    put(store, 5);
    plan_store_facts(store, &facts);
    cr_assert_eq(facts.planned, 81);
    cr_assert_eq(facts.replanned, 1);
    plan_store_free(store);
}

Test(plan_store, reports_and_stopping_come_before_all_else)
{
    struct plan_store *store = store_of(AHEAD);
    uint64_t step;
    plan_store_request_report(store);
    cr_assert_eq(plan_store_choose(store, distance, NULL, &step), PLAN_CHOICE_REPORT);
    cr_assert_eq(choose(store), 0);
    plan_store_stop(store);
    cr_assert_eq(plan_store_choose(store, distance, NULL, &step), PLAN_CHOICE_STOP);
    plan_store_free(store);
}

Test(plan_store, forgets_what_the_ledger_has_overruled)
{
    struct plan_store *store = store_of(AHEAD);
    struct plan_store_facts facts;
    put(store, 4);
    put(store, 5);
    plan_store_end(store, 6);
    plan_store_forget(store, 5);
    cr_assert(holds(store, 4));
    cr_assert_not(holds(store, 5));
    plan_store_facts(store, &facts);
    cr_assert_eq(facts.end, PLAN_STORE_NO_END, "the end may lie elsewhere");
    cr_assert_eq(facts.planned, 5);
    plan_store_end(store, 6);
    plan_store_forget(store, 7);
    plan_store_facts(store, &facts);
    cr_assert_eq(facts.end, 6, "nothing before step 7 has changed");
    plan_store_free(store);
}

Test(plan_store, hands_a_change_to_the_planner_once)
{
    struct plan_store *store = store_of(AHEAD);
    uint64_t step;
    plan_store_request_change(store);
    cr_assert_eq(plan_store_choose(store, NULL, NULL, &step), PLAN_CHOICE_CHANGE);
    cr_assert_eq(plan_store_choose(store, NULL, NULL, &step), PLAN_CHOICE_STEP);
    plan_store_free(store);
}
