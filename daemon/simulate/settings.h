/* Settings of packing and sharding that are worth a try. Pure. */
#ifndef BALLAST_SIMULATE_SETTINGS_H
#define BALLAST_SIMULATE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"

#define SETTING_MOST_THRESHOLDS 3

struct setting {
    const char *policy; /* name that lives for ever */
    enum cp_strategy sharding;
    uint32_t max_sequence_length;
    uint64_t thresholds[SETTING_MOST_THRESHOLDS]; /* `wlb` */
    unsigned threshold_count;
    double balance; /* `adaptive` */
};

/* Zero-initialise; free `items`. */
struct settings {
    struct setting *items;
    size_t count, capacity;
};

/*
 * Every packing worth a try for `config`, all with `sharding`: policies that keep to the window
 * once, the others with every longest micro-batch that the configuration permits. EX_OSERR.
 */
int settings_of_packing(const struct config *config, enum cp_strategy sharding,
                        struct settings *settings, struct error *err);

/*
 * The configuration with this setting. A shallow copy: it lives no longer than `config` and
 * `setting`, and is not to be freed.
 */
struct config setting_apply(const struct config *config, struct setting *setting);

/* Is `balance` what the policy is tuned with? */
bool setting_balances(const struct setting *setting);

/* "wlb [32768, 81920]", "adaptive 0.5": the policy and what it is tuned with. */
const char *setting_name(const struct setting *setting, char *text, size_t bytes);

#endif
