#include "simulate/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"

/* Longest micro-batches to try, in quarters of the window. */
static const unsigned lengths[] = { 4, 5, 6, 8 };

/* Thresholds to try, in sixteenths of the window; 0 ends a row. */
static const unsigned thresholds[][SETTING_MOST_THRESHOLDS] = {
    { 4 }, { 6 }, { 8 }, { 2, 6 }, { 4, 8 }, { 4, 10 }, { 6, 12 }, { 2, 6, 12 }, { 4, 8, 12 },
};

static const double balances[] = { 0, 0.125, 0.25, 0.375, 0.5, 0.75, 1 };

#define ADAPTIVE "adaptive"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int add(struct settings *settings, struct setting setting, struct error *err)
{
    if (!grow(settings->items, &settings->capacity, settings->count + 1))
        return error_memory(err, "listing settings to try");
    settings->items[settings->count++] = setting;
    return 0;
}

/* The thresholds of a row, as far as they rise in windows that are very short. */
static void set_thresholds(struct setting *setting, const unsigned *row, uint32_t window)
{
    setting->threshold_count = 0;
    for (unsigned i = 0; i < SETTING_MOST_THRESHOLDS && row[i]; i++) {
        uint64_t threshold = (uint64_t)window * row[i] / 16;
        unsigned count = setting->threshold_count;
        uint64_t before = count ? setting->thresholds[count - 1] : 0;
        if (threshold > before)
            setting->thresholds[setting->threshold_count++] = threshold;
    }
}

static int add_wlb(const struct config *config, struct setting setting, struct settings *settings,
                   struct error *err)
{
    setting.policy = "wlb";
    int status = 0;
    for (size_t i = 0; i < COUNT(thresholds) && !status; i++) {
        set_thresholds(&setting, thresholds[i], config->context_window);
        /* `wlb` needs room for a batch more than it has queues. */
        unsigned most = config->packing.max_waiting_steps - 1;
        if (setting.threshold_count && setting.threshold_count <= most)
            status = add(settings, setting, err);
    }
    return status;
}

static int add_adaptive(struct setting setting, struct settings *settings, struct error *err)
{
    setting.policy = ADAPTIVE;
    int status = 0;
    for (size_t i = 0; i < COUNT(balances) && !status; i++) {
        setting.balance = balances[i];
        status = add(settings, setting, err);
    }
    return status;
}

static int add_fixed(struct setting setting, struct settings *settings, struct error *err)
{
    setting.policy = "plain";
    int status = add(settings, setting, err);
    setting.policy = "fixed-greedy";
    return status ? status : add(settings, setting, err);
}

/* Longest micro-batch number `index`, or 0 when there is none: the last is what is permitted. */
static uint32_t permitted_length(const struct config *config, size_t index)
{
    uint64_t most = config->max_sequence_length;
    if (index == COUNT(lengths))
        return (uint32_t)most;
    uint64_t length = (uint64_t)config->context_window * lengths[index] / 4;
    return length < most ? (uint32_t)length : 0;
}

int settings_of_packing(const struct config *config, enum cp_strategy sharding,
                        struct settings *settings, struct error *err)
{
    struct setting setting = { .sharding = sharding,
                               .max_sequence_length = config->context_window };
    int status = add_fixed(setting, settings, err);
    for (size_t i = 0; i <= COUNT(lengths) && !status; i++) {
        setting.max_sequence_length = permitted_length(config, i);
        if (!setting.max_sequence_length)
            continue;
        status = add_wlb(config, setting, settings, err);
        if (status == 0 && pack_policy_find(ADAPTIVE))
            status = add_adaptive(setting, settings, err);
    }
    return status;
}

struct config setting_apply(const struct config *config, struct setting *setting)
{
    struct config with = *config;
    with.packing.policy = (char *)setting->policy;
    with.packing.window = 1;
    with.packing.balance = setting->balance;
    with.sharding.strategy = setting->sharding;
    with.max_sequence_length = setting->max_sequence_length;
    if (setting->threshold_count) {
        with.packing.auto_thresholds = false;
        with.packing.outlier_thresholds = setting->thresholds;
        with.packing.outlier_threshold_count = setting->threshold_count;
    }
    return with;
}

bool setting_balances(const struct setting *setting)
{
    return strcmp(setting->policy, ADAPTIVE) == 0;
}

const char *setting_name(const struct setting *setting, char *text, size_t bytes)
{
    int used = snprintf(text, bytes, "%s", setting->policy);
    for (unsigned i = 0; i < setting->threshold_count; i++)
        used += snprintf(text + used, bytes - (size_t)used, "%s%" PRIu64, i ? ", " : " [",
                         setting->thresholds[i]);
    if (setting->threshold_count)
        snprintf(text + used, bytes - (size_t)used, "]");
    if (setting_balances(setting))
        snprintf(text + used, bytes - (size_t)used, " %g", setting->balance);
    return text;
}
