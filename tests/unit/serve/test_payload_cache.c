/* The payload cache: its budget, whom it drops, and what gathering ahead may not displace. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "serve/payload_cache.h"

#define ANY UINT64_MAX

static struct payload_cache cache;

static void open_cache(size_t limit_bytes)
{
    struct error err = { 0 };
    cr_assert_eq(payload_cache_init(&cache, limit_bytes, &err), 0, "%s", err.text);
}

static struct payload_key key(uint64_t step)
{
    return (struct payload_key){ .step = step, .microbatch = 1, .rank = 2 };
}

static struct payload *payload_of(size_t bytes)
{
    struct payload *payload = calloc(1, sizeof *payload + bytes);
    atomic_init(&payload->references, 1);
    payload->bytes = bytes;
    return payload;
}

static bool put(uint64_t step, size_t bytes, uint64_t past)
{
    if (!payload_cache_reserve(&cache, key(step), bytes, past))
        return false;
    struct payload *payload = payload_of(bytes);
    payload_cache_fill(&cache, key(step), payload);
    payload_unref(payload);
    return true;
}

static enum payload_state state(uint64_t step)
{
    struct payload *payload;
    return payload_cache_find(&cache, key(step), &payload);
}

Test(payload_cache, an_entry_is_absent_then_coming_then_here)
{
    open_cache(1000);
    cr_assert_eq(state(5), PAYLOAD_ABSENT);
    cr_assert(payload_cache_reserve(&cache, key(5), 100, ANY));
    cr_assert_eq(state(5), PAYLOAD_COMING);
    cr_assert_eq(cache.bytes, 100, "bytes count from the start");
    struct payload *payload = payload_of(100), *found;
    payload_cache_fill(&cache, key(5), payload);
    cr_assert_eq(payload_cache_find(&cache, key(5), &found), PAYLOAD_HERE);
    cr_assert_eq(found, payload);
    cr_assert_eq(cache.count, 1);
    payload_cache_fini(&cache);
    cr_assert_eq(atomic_load(&payload->references), 1, "the cache gives its reference back");
    payload_unref(payload);
}

Test(payload_cache, keys_differ_in_every_part)
{
    open_cache(1000);
    struct payload_key keys[] = { { 1, 2, 3 }, { 2, 2, 3 }, { 1, 3, 3 }, { 1, 2, 4 }, { 1, 3, 2 } };
    struct payload *found;
    payload_cache_reserve(&cache, keys[0], 1, ANY);
    for (size_t i = 1; i < sizeof keys / sizeof *keys; i++)
        cr_assert_eq(payload_cache_find(&cache, keys[i], &found), PAYLOAD_ABSENT);
    cr_assert_eq(payload_cache_find(&cache, keys[0], &found), PAYLOAD_COMING);
    payload_cache_fini(&cache);
}

Test(payload_cache, drops_the_least_recently_used)
{
    open_cache(300);
    for (uint64_t step = 0; step < 3; step++)
        cr_assert(put(step, 100, ANY));
    cr_assert_eq(state(0), PAYLOAD_HERE); /* used again */
    cr_assert(put(3, 100, ANY));
    cr_assert_eq(state(1), PAYLOAD_ABSENT);
    cr_assert_eq(state(0), PAYLOAD_HERE);
    cr_assert_eq(cache.bytes, 300);
    cr_assert_eq(cache.count, 3);
    payload_cache_fini(&cache);
}

Test(payload_cache, never_exceeds_its_budget_except_for_one_payload_alone)
{
    open_cache(300);
    cr_assert(put(0, 200, ANY));
    cr_assert(put(1, 5000, ANY));
    cr_assert_eq(cache.count, 1);
    cr_assert(put(2, 100, ANY), "the large one is dropped in its turn");
    cr_assert_eq(cache.bytes, 100);
    payload_cache_fini(&cache);
}

Test(payload_cache, what_is_being_gathered_cannot_be_dropped)
{
    open_cache(200);
    cr_assert(payload_cache_reserve(&cache, key(0), 200, ANY));
    cr_assert_not(payload_cache_reserve(&cache, key(1), 100, ANY));
    payload_cache_cancel(&cache, key(0));
    cr_assert_eq(cache.bytes, 0);
    cr_assert(payload_cache_reserve(&cache, key(1), 100, ANY));
    payload_cache_fini(&cache);
}

Test(payload_cache, gathering_ahead_displaces_only_the_past)
{
    open_cache(300);
    put(4, 100, ANY);
    put(9, 100, ANY);
    put(10, 100, ANY);
    cr_assert(put(12, 100, 9), "step 4 lies in the past");
    cr_assert_eq(state(4), PAYLOAD_ABSENT);
    cr_assert_not(put(13, 100, 9), "steps 9, 10 and 12 are needed sooner");
    cr_assert_eq(cache.count, 3);
    payload_cache_fini(&cache);
}

Test(payload_cache, forgets_what_has_been_consumed)
{
    open_cache(1000);
    for (uint64_t step = 0; step < 5; step++)
        put(step, 100, ANY);
    payload_cache_reserve(&cache, key(7), 50, ANY);
    payload_cache_forget(&cache, 3);
    cr_assert_eq(cache.count, 2);
    cr_assert_eq(cache.bytes, 250);
    cr_assert_eq(state(2), PAYLOAD_ABSENT);
    cr_assert_eq(state(3), PAYLOAD_HERE);
    payload_cache_fini(&cache);
}

Test(payload_cache, drops_what_the_ledger_has_overruled)
{
    open_cache(1000);
    for (uint64_t step = 0; step < 5; step++)
        put(step, 100, ANY);
    payload_cache_reserve(&cache, key(7), 50, ANY);
    payload_cache_drop_from(&cache, 3);
    cr_assert_eq(cache.count, 3);
    cr_assert_eq(cache.bytes, 300);
    cr_assert_eq(state(2), PAYLOAD_HERE);
    cr_assert_eq(state(3), PAYLOAD_ABSENT);
    cr_assert_eq(state(7), PAYLOAD_ABSENT, "also while it is being gathered");
    payload_cache_fini(&cache);
}
