#include <criterion/criterion.h>

#include "pack/promise.h"

#define STEP 10

static struct promise open_promise(uint32_t microbatches, uint32_t window, uint32_t max_tokens,
                                   uint32_t max_delay)
{
    struct pack_shape shape = { .microbatches = microbatches,
                                .window = window,
                                .max_tokens = max_tokens };
    struct promise promise;
    promise_init(&promise, &shape, max_delay, window / 16);
    return promise;
}

static struct piece aged(uint32_t length, uint64_t age)
{
    return (struct piece){ .length = length, .arrived = STEP - age };
}

/* Settles over the pieces, then asks for each in turn. */
static void expect_must(struct promise *promise, const struct piece *pieces, size_t count,
                        const bool *must)
{
    promise_begin(promise);
    promise_add(promise, pieces, count, STEP);
    promise_settle(promise);
    for (size_t i = 0; i < count; i++)
        cr_expect_eq(promise_must_go(promise, &pieces[i], STEP), must[i], "piece %zu", i);
}

/*
 * A step is sure of half of N x S_max less a piece, and with small pieces to fill it, of all but
 * N x S / 16; one piece more than was asked for may arrive.
 */
Test(promise, amounts_follow_from_the_shape)
{
    struct promise promise = open_promise(4, 160, 320, 1);
    cr_assert_eq(promise.safe_tokens, 480);
    cr_assert_eq(promise.most_waiting, 2 * 480 - 160);
    cr_assert_eq(promise.most_held, 480 + 4 * 310 - 160);
    promise = open_promise(4, 160, 320, 3);
    cr_assert_eq(promise.most_waiting, 4 * 480 - 160);
    cr_assert_eq(promise.most_left, 3 * 480);
    promise = open_promise(2, 100, 100, 1);
    cr_assert_eq(promise.safe_tokens, 100,
                 "a piece and less than another fit into two at any rate");
    cr_assert_eq(promise.most_waiting, 100);
}

Test(promise, what_is_due_goes_and_nothing_else)
{
    struct promise promise = open_promise(4, 100, 200, 2);
    struct piece pieces[] = { aged(90, 1), aged(70, 2), aged(80, 0), aged(1, 9) };
    expect_must(&promise, pieces, 4, (bool[]){ false, true, false, true });
}

Test(promise, nothing_must_go_when_nothing_waits_long)
{
    struct promise promise = open_promise(4, 100, 200, 2);
    struct piece pieces[] = { aged(100, 0), aged(100, 0), aged(100, 1), aged(100, 1) };
    expect_must(&promise, pieces, 4, (bool[]){ false, false, false, false });
}

/* 50 are due now and 400 in the next step, which can hold 300 for certain: 150 go now. */
Test(promise, what_the_next_step_cannot_hold_goes_now)
{
    struct promise promise = open_promise(4, 100, 200, 2);
    struct piece pieces[] = { aged(100, 1), aged(100, 1), aged(50, 2), aged(100, 1), aged(100, 1) };
    expect_must(&promise, pieces, 5, (bool[]){ true, false, true, false, false });
}

/* 360 within the next step: 60 are too many; the piece that ends the need may reach over it. */
Test(promise, the_last_one_may_reach_over)
{
    struct promise promise = open_promise(4, 100, 200, 1);
    struct piece pieces[] = { aged(90, 0), aged(90, 0), aged(90, 0), aged(90, 0) };
    expect_must(&promise, pieces, 4, (bool[]){ true, false, false, false });
    for (size_t i = 0; i < 4; i++)
        pieces[i].length = i ? 100 : 40; /* 340: 40 are too many */
    expect_must(&promise, pieces, 4, (bool[]){ true, false, false, false });
    pieces[1].length = 101; /* 341: 41 */
    expect_must(&promise, pieces, 4, (bool[]){ true, true, false, false });
}

/* Two lists count as one. */
Test(promise, lists_add_up)
{
    struct promise promise = open_promise(4, 100, 200, 1);
    struct piece left[] = { aged(100, 0), aged(100, 0) }, pool[] = { aged(100, 0), aged(60, 0) };
    promise_begin(&promise);
    promise_add(&promise, left, 2, STEP);
    promise_add(&promise, pool, 2, STEP);
    promise_settle(&promise);
    cr_assert(promise_must_go(&promise, &pool[1], STEP));
    cr_assert_not(promise_must_go(&promise, &pool[0], STEP), "60 were needed, and have gone");
    cr_assert_not(promise_must_go(&promise, &left[0], STEP));
}
