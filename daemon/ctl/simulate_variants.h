/* What `ballastctl simulate` compares: one configuration for every policy and sharding. */
#ifndef BALLAST_CTL_SIMULATE_VARIANTS_H
#define BALLAST_CTL_SIMULATE_VARIANTS_H

#include <stddef.h>

#include "base/error.h"
#include "config/config.h"
#include "ctl/arguments.h"
#include "simulate/run.h"

struct variant {
    struct config *config; /* that of the job, with this policy and sharding */
    struct simulation simulation;
};

/* The first is the baseline: plain with per-sequence. */
struct variants {
    struct config *job; /* as it was written */
    struct variant *items;
    size_t count, capacity;
};

/*
 * Reads --config, --set, --policies and --shardings. Each variant is what the job would be if its
 * policy and sharding were given by --set, defaults that depend on them included. EX_USAGE for an
 * unknown or empty name, otherwise as config_load. Call variants_fini afterwards, also on failure.
 */
int variants_load(struct variants *variants, const struct arguments *arguments, struct error *err);
void variants_fini(struct variants *variants);

/*
 * The job with a policy that may fill micro-batches beyond the window: its max_sequence_length is
 * what is written, or what such policies get by default. The caller's until config_free.
 */
int variants_load_roomy(const struct arguments *arguments, struct config **ret_config,
                        struct error *err);

const char *variant_policy(const struct variant *variant);
const char *variant_sharding(const struct variant *variant);

#endif
