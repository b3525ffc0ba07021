#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/settings.h"

static struct config config_of(uint32_t window, uint32_t most)
{
    return (struct config){ .context_window = window,
                            .max_sequence_length = most,
                            .packing = { .max_waiting_steps = 16, .max_delay = 9, .window = 5 } };
}

static size_t count_of(const struct settings *settings, const char *policy, uint32_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < settings->count; i++)
        count += !strcmp(settings->items[i].policy, policy) &&
                 settings->items[i].max_sequence_length == length;
    return count;
}

Test(settings, every_length_up_to_what_is_permitted)
{
    struct config config = config_of(1600, 2800); /* 1.75 S: no length of the list */
    struct settings settings = { 0 };
    cr_assert_eq(settings_of_packing(&config, CP_HYBRID, &settings, NULL), 0);
    const uint32_t lengths[] = { 1600, 2000, 2400, 2800 };
    size_t seen = 2;
    for (size_t i = 0; i < 4; i++) {
        cr_assert(count_of(&settings, "wlb", lengths[i]) >= 9);
        cr_assert(count_of(&settings, "adaptive", lengths[i]) >= 5);
        seen += count_of(&settings, "wlb", lengths[i]);
        seen += count_of(&settings, "adaptive", lengths[i]);
    }
    cr_assert_eq(count_of(&settings, "plain", 1600), 1);
    cr_assert_eq(count_of(&settings, "fixed-greedy", 1600), 1);
    cr_assert_eq(seen, settings.count);
    for (size_t i = 0; i < settings.count; i++)
        cr_assert_eq(settings.items[i].sharding, CP_HYBRID);
    free(settings.items);
}

Test(settings, thresholds_rise_however_short_the_window)
{
    for (uint32_t window = 1; window < 40; window++) {
        struct config config = config_of(window, 2 * window);
        struct settings settings = { 0 };
        cr_assert_eq(settings_of_packing(&config, CP_ADAPTIVE, &settings, NULL), 0);
        for (size_t i = 0; i < settings.count; i++) {
            const struct setting *setting = &settings.items[i];
            for (unsigned t = 0; t < setting->threshold_count; t++)
                cr_assert_gt(setting->thresholds[t], t ? setting->thresholds[t - 1] : 0);
        }
        free(settings.items);
    }
}

Test(settings, queues_leave_room_in_what_may_wait)
{
    struct config config = config_of(1600, 1600);
    config.packing.max_waiting_steps = 2;
    struct settings settings = { 0 };
    cr_assert_eq(settings_of_packing(&config, CP_ADAPTIVE, &settings, NULL), 0);
    for (size_t i = 0; i < settings.count; i++)
        cr_assert_leq(settings.items[i].threshold_count, 1);
    cr_assert(count_of(&settings, "wlb", 1600) > 0);
    free(settings.items);
}

Test(settings, apply_changes_what_the_setting_says)
{
    uint64_t own[] = { 7 };
    struct config config = config_of(1600, 3200);
    config.packing.outlier_thresholds = own;
    config.packing.outlier_threshold_count = 1;
    config.packing.auto_thresholds = true;
    struct setting setting = { .policy = "wlb",
                               .sharding = CP_PER_DOCUMENT,
                               .max_sequence_length = 2000,
                               .thresholds = { 400, 800 },
                               .threshold_count = 2 };
    struct config with = setting_apply(&config, &setting);
    cr_assert_str_eq(with.packing.policy, "wlb");
    cr_assert_eq(with.packing.outlier_threshold_count, 2);
    cr_assert_eq(with.packing.outlier_thresholds[1], 800);
    cr_assert_not(with.packing.auto_thresholds);
    cr_assert_eq(with.packing.max_delay, 9);
    cr_assert_eq(with.packing.window, 1);
    cr_assert_eq(with.sharding.strategy, CP_PER_DOCUMENT);
    cr_assert_eq(with.max_sequence_length, 2000);

    struct setting balanced = { .policy = "adaptive", .balance = 0.25 };
    with = setting_apply(&config, &balanced);
    cr_assert_float_eq(with.packing.balance, 0.25, 0);
    cr_assert_eq(with.packing.outlier_thresholds, own);
    cr_assert(with.packing.auto_thresholds);
}

Test(settings, names)
{
    char text[96];
    struct setting wlb = { .policy = "wlb", .thresholds = { 4, 80 }, .threshold_count = 2 };
    struct setting adaptive = { .policy = "adaptive", .balance = 0.5 };
    struct setting plain = { .policy = "plain" };
    cr_assert_str_eq(setting_name(&wlb, text, sizeof text), "wlb [4, 80]");
    cr_assert_str_eq(setting_name(&adaptive, text, sizeof text), "adaptive 0.5");
    cr_assert_str_eq(setting_name(&plain, text, sizeof text), "plain");
    cr_assert(setting_balances(&adaptive));
    cr_assert_not(setting_balances(&wlb));
}
