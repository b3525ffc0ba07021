/*
 * What of a configuration may change while its job lives (ARCHITECTURE.md, The ledger): layout,
 * windows, packing, sharding, cost, and the weights of sources. As lines of KEY=VALUE, which are
 * overrides of any configuration of the same job.
 */
#ifndef BALLAST_CONFIG_SETTINGS_H
#define BALLAST_CONFIG_SETTINGS_H

#include "config/config.h"

#define SETTINGS_MOST_BYTES ((size_t)256 << 10)

/*
 * The settings of a configuration, all of them; no ';' stands in them. The text is the caller's to
 * free. EX_OSERR.
 */
int config_settings(const struct config *config, char **ret_text, struct error *err);

/* The same, and in front of them lines of what must stay as it is: for config_read_successor. */
int config_description(const struct config *config, char **ret_text, struct error *err);

/*
 * The configuration that config_description described, with the rest as in `config`, if it may
 * follow on `config`; see config_check_successor. Errors and ownership as config_with_settings.
 */
int config_read_successor(const struct config *config, const char *description,
                          struct config **ret_config, struct error *err);

/*
 * A copy of `config` with these settings, which config_settings wrote. EX_CONFIG says which does
 * not fit; EX_OSERR. *ret_config is the caller's until config_free.
 */
int config_with_settings(const struct config *config, const char *settings,
                         struct config **ret_config, struct error *err);

/*
 * May `changed` take over from `config` in the midst of the job? EX_CONFIG names the first key that
 * must stay what it is: it decides which document follows which.
 */
int config_check_successor(const struct config *config, const struct config *changed,
                           struct error *err);

/* Would a trainer of the one notice the other? Layout and windows alone. */
bool config_same_layout(const struct config *a, const struct config *b);

#endif
