#include "serve/bad_steps.h"

#include <criterion/criterion.h>
#include <sysexits.h>

static const struct error bad_data = { EX_DATAERR, "shard x.bin: token 3 is 70000" };
static const struct bad_shard shard = { 1, 2 };
static struct bad_steps bad;

static void forget(void)
{
    bad = (struct bad_steps){ 0 };
}

TestSuite(bad_steps, .init = forget);

Test(bad_steps, only_a_shard_makes_a_step_bad)
{
    cr_expect(bad_steps_counts(&bad_data));
    cr_expect(bad_steps_counts(&(struct error){ .code = EX_IOERR }));
    cr_expect(bad_steps_counts(&(struct error){ .code = EX_NOINPUT }));
    cr_expect_not(bad_steps_counts(&(struct error){ .code = EX_OSERR }));
    cr_expect_not(bad_steps_counts(&(struct error){ .code = EX_SOFTWARE }));
}

Test(bad_steps, a_step_is_news_once_until_it_is_well)
{
    const struct payload_key key = { 7, 1, 0 };
    cr_expect_null(bad_steps_find(&bad, 7));
    cr_expect(bad_steps_add(&bad, key, shard, &bad_data));
    cr_expect_not(bad_steps_add(&bad, key, shard, &bad_data));
    cr_assert_not_null(bad_steps_find(&bad, 7));
    cr_expect_str_eq(bad_steps_find(&bad, 7)->error.text, bad_data.text);
    cr_expect_null(bad_steps_find(&bad, 8));
    cr_expect_eq(bad_steps_count(&bad), 1);
    bad_steps_clear(&bad, key);
    cr_expect_null(bad_steps_find(&bad, 7));
    cr_expect(bad_steps_add(&bad, key, shard, &bad_data));
    cr_expect_eq(bad.found, 2);
    cr_expect_eq(bad.failures, 3);
}

Test(bad_steps, another_share_does_not_make_it_well)
{
    bad_steps_add(&bad, (struct payload_key){ 7, 1, 0 }, shard, &bad_data);
    bad_steps_clear(&bad, (struct payload_key){ 7, 0, 0 });
    bad_steps_clear(&bad, (struct payload_key){ 7, 1, 1 });
    bad_steps_clear(&bad, (struct payload_key){ 8, 1, 0 });
    cr_expect_not_null(bad_steps_find(&bad, 7));
}

Test(bad_steps, a_step_that_is_planned_anew_is_another)
{
    for (uint64_t step = 5; step < 8; step++)
        bad_steps_add(&bad, (struct payload_key){ step, 0, 0 }, shard, &bad_data);
    bad_steps_drop_from(&bad, 6);
    cr_expect_not_null(bad_steps_find(&bad, 5));
    cr_expect_null(bad_steps_find(&bad, 6));
    cr_expect_null(bad_steps_find(&bad, 7));
}

Test(bad_steps, the_latest_are_known)
{
    for (uint64_t step = 0; step < 3 * BAD_STEPS_KNOWN; step++)
        cr_assert(bad_steps_add(&bad, (struct payload_key){ step, 0, 0 }, shard, &bad_data));
    cr_expect_eq(bad_steps_count(&bad), BAD_STEPS_KNOWN);
    cr_expect_null(bad_steps_find(&bad, 2 * BAD_STEPS_KNOWN - 1));
    cr_expect_not_null(bad_steps_find(&bad, 2 * BAD_STEPS_KNOWN));
}

Test(bad_steps, a_fault_that_comes_again_is_no_passing_one)
{
    const struct payload_key key = { 7, 1, 0 }, other_share = { 7, 0, 0 };
    bad_steps_add(&bad, key, shard, &bad_data);
    cr_expect_not(bad_steps_find(&bad, 7)->again);
    bad_steps_add(&bad, other_share, (struct bad_shard){ 1, 3 }, &bad_data);
    cr_expect_not(bad_steps_find(&bad, 7)->again, "of another shard");
    bad_steps_add(&bad, key, (struct bad_shard){ 1, 3 }, &bad_data);
    cr_expect_not(bad_steps_find(&bad, 7)->again, "that of the share is another now");
    bad_steps_add(&bad, key, (struct bad_shard){ 1, 3 }, &bad_data);
    cr_expect(bad_steps_find(&bad, 7)->again);
    bad_steps_find(&bad, 7)->refused = true;
    bad_steps_add(&bad, key, (struct bad_shard){ 1, 3 }, &bad_data);
    cr_expect(bad_steps_find(&bad, 7)->refused);
    bad_steps_clear(&bad, key);
    bad_steps_add(&bad, key, (struct bad_shard){ 1, 3 }, &bad_data);
    cr_expect_not(bad_steps_find(&bad, 7)->again);
    cr_expect_not(bad_steps_find(&bad, 7)->refused);
}

Test(bad_steps, shards_that_fail_in_turns_do_not_hide_one_another)
{
    const struct payload_key one = { 7, 0, 0 }, two = { 7, 1, 0 };
    const struct bad_shard other = { 1, 3 };
    for (int i = 0; i < 2; i++) {
        bad_steps_add(&bad, one, shard, &bad_data);
        cr_expect_not(bad_steps_add(&bad, two, other, &bad_data));
    }
    cr_expect(bad_steps_find(&bad, 7)->again);
    cr_expect_eq(bad_steps_find(&bad, 7)->shard.number, shard.number);
    cr_expect_eq(bad.failures, 4);
    bad_steps_clear(&bad, one);
    cr_expect(bad_steps_add(&bad, two, other, &bad_data));
    cr_expect_eq(bad_steps_find(&bad, 7)->shard.number, other.number);
}
