/*
 * The configuration of a job (DESIGN section 10): YAML, checked whole, unknown keys refused.
 * Sections that belong to a module are that module's own options struct.
 */
#ifndef BALLAST_CONFIG_CONFIG_H
#define BALLAST_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "corpus/corpus.h"
#include "cost/cost.h"
#include "cp/cp.h"
#include "pack/pack.h"
#include "stream/stream.h"

enum last_step { LAST_STEP_SERVE, LAST_STEP_DROP };
enum on_bad_shard { BAD_SHARD_STOP, BAD_SHARD_SKIP };
enum log_format { LOG_TEXT, LOG_JSON };

struct parallel {
    uint32_t dp, pp, cp, tp;
    uint32_t microbatches; /* per DP replica and step */
};

struct serve_options {
    char *endpoint;       /* ZeroMQ, for trainers */
    char *admin;          /* ZeroMQ, for ballastctl */
    uint32_t steps_ahead; /* steps planned and gathered ahead of demand, >= 1 */
    uint32_t gather_threads;
    uint64_t cache_bytes;       /* most bytes of gathered payloads; 0: derived from steps_ahead */
    uint64_t max_message_bytes; /* of a request; larger ones are cut off */
    uint32_t max_clients;
    uint32_t readers; /* clients that fetch batches; 0: every rank of `parallel` */
};

/* Who may connect: serve/access.h. Paths are NULL where they are not given. */
struct access_options {
    char *curve_secret_key;       /* file */
    char *clients;                /* file */
    uint32_t max_clients_per_key; /* 0: no fewer than serve.max_clients */
    bool allow_plaintext;         /* endpoints that others can reach may do without CURVE */
};

struct observe_options {
    enum log_format log;
};

struct state_options {
    char *directory;         /* where snapshots are kept; NULL: none are */
    uint32_t snapshot_every; /* steps, >= 1 */
};

struct config {
    char *job;
    uint64_t seed;
    struct source_spec *sources;
    unsigned source_count;
    uint32_t vocab_size;
    struct parallel parallel;
    uint32_t context_window;      /* S */
    uint32_t max_sequence_length; /* S_max */
    enum long_documents long_documents;
    enum last_step last_step;
    enum on_bad_shard on_bad_shard;
    struct pack_options packing;
    struct cp_options sharding; /* ranks is a copy of parallel.cp */
    struct cost_options cost;
    struct serve_options serve;
    struct access_options access;
    struct observe_options observe;
    struct state_options state;
};

/* One `--set key.path=value`, value being YAML. */
struct config_override {
    const char *key, *value;
};

/*
 * Reads and checks `path`, then the overrides in order. On success *ret_config is the caller's
 * until config_free, with every default filled in. On failure it is untouched and `err` says file,
 * line, key, found and expected (EX_CONFIG; EX_NOINPUT when the file cannot be read).
 */
int config_load(const char *path, const struct config_override *overrides, size_t override_count,
                struct config **ret_config, struct error *err);

/*
 * The same from text; `name` stands for the path in errors, and for where a relative cost table
 * starts. Paths of sources are left as they are.
 */
int config_parse(const char *name, const char *text, size_t bytes,
                 const struct config_override *overrides, size_t override_count,
                 struct config **ret_config, struct error *err);

void config_free(struct config *config);

/* N = dp x microbatches. */
uint32_t config_step_microbatches(const struct config *config);

/*
 * The effective configuration as YAML, every key with its value, in the order of the sample
 * configuration; config_parse of it gives the same configuration. The text is the caller's to free.
 */
int config_print(const struct config *config, char **ret_text, struct error *err);

/*
 * Everything that decides the plans, in a canonical form (no serve, access, observe, state or path
 * keys): hashed into the job digest. The text is the caller's to free.
 */
int config_plan_text(const struct config *config, char **ret_text, struct error *err);

#endif
