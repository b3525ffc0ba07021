#include "serve/ledger_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "serve/bad_shards.h"
#include "serve/request.h"
#include "wire/limits.h"

#define SETTINGS_BYTES ((size_t)WIRE_MAX_ARGUMENTS * WIRE_MAX_TEXT_BYTES + 1)

/* A command under way, and the room for saying what is wrong with it. */
struct reading {
    const struct server *server;
    const Ballast__V1__Admin *admin;
    char *why;
    size_t bytes;
};

static enum wire_status refuse(const struct reading *reading, const struct error *err)
{
    snprintf(reading->why, reading->bytes, "%s", err->text);
    return err->code == EX_OSERR ? WIRE_BUSY : WIRE_BAD_REQUEST;
}

static enum wire_status refuse_usage(const struct reading *reading, const char *usage)
{
    snprintf(reading->why, reading->bytes, "%s takes %s", reading->admin->command, usage);
    return WIRE_BAD_REQUEST;
}

static bool read_step(const char *text, uint64_t *ret_step)
{
    char *end;
    errno = 0;
    unsigned long long step = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return false;
    *ret_step = step;
    return true;
}

/* "force", or nothing: another word is none of either. */
static bool read_force(const char *text, bool *ret_force)
{
    *ret_force = strcmp(text, "force") == 0;
    return *ret_force || *text == '\0';
}

/* What a trainer has had stays true, unless somebody says that it shall not. */
static enum wire_status check_served(const struct reading *reading, uint64_t step, bool force)
{
    const struct server *server = reading->server;
    if (force || !server->has_requested || step > server->requested_step)
        return WIRE_OK;
    snprintf(reading->why, reading->bytes,
             "step %" PRIu64
             " was asked for by a trainer already, and the furthest one asked for is "
             "%" PRIu64 ": name a later step; or, if all ranks go back to step %" PRIu64
             " or before, use --force",
             step, server->requested_step, step);
    return WIRE_BAD_REQUEST;
}

static enum wire_status check_directory(const struct reading *reading)
{
    if (reading->server->snapshots)
        return WIRE_OK;
    snprintf(reading->why, reading->bytes,
             "this daemon has nowhere to keep a ledger: set state.directory in its configuration");
    return WIRE_BAD_REQUEST;
}

/* The settings come in as many arguments as they need, their lines ended by ';'. */
static void join_settings(const Ballast__V1__Admin *admin, char text[SETTINGS_BYTES])
{
    size_t used = 0;
    for (size_t i = 2; i < admin->n_arguments; i++)
        used += (size_t)snprintf(text + used, SETTINGS_BYTES - used, "%s", admin->arguments[i]);
    text[used] = '\0';
    for (char *c = text; *c; c++)
        *c = *c == ';' ? '\n' : *c;
}

/* What a trainer relies on: see main.c, refuse_studies. */
static int check_policy(const struct config *config, struct error *err)
{
    const struct pack_policy *policy = pack_policy_find(config->packing.policy);
    return policy && policy->study_only
               ? error_set(err, EX_CONFIG, "packing.policy: '%s' is for studies and is not served",
                           policy->name)
               : 0;
}

/* Settings that are in force already, and would only change the digests, are refused. */
static int check_news(const struct config *in_force, const char *settings, struct error *err)
{
    char *old;
    int failed = config_settings(in_force, &old, err);
    if (failed)
        return failed;
    bool same = strcmp(old, settings) == 0;
    free(old);
    return same ? error_set(err, EX_USAGE, "these settings are in force by then: nothing changes")
                : 0;
}

static int settings_of(const struct reading *reading, char **ret_settings, struct error *err)
{
    const struct history *history = reading->server->lineage->history;
    const struct config *in_force = history->epochs[history->count - 1].config;
    struct config *changed = NULL;
    char text[SETTINGS_BYTES], *settings = NULL;
    join_settings(reading->admin, text);
    int failed = config_read_successor(in_force, text, &changed, err);
    if (!failed)
        failed = check_policy(changed, err);
    if (!failed)
        failed = config_settings(changed, &settings, err);
    if (!failed)
        failed = check_news(in_force, settings, err);
    config_free(changed);
    if (failed)
        free(settings);
    else
        *ret_settings = settings;
    return failed;
}

static enum wire_status read_reshape(const struct reading *reading, struct ledger_entry *ret_entry,
                                     bool *ret_force)
{
    struct error err = { 0 };
    const Ballast__V1__Admin *admin = reading->admin;
    ret_entry->kind = LEDGER_RESHAPE;
    if (admin->n_arguments < 3 || !read_step(admin->arguments[0], &ret_entry->step) ||
        !read_force(admin->arguments[1], ret_force))
        return refuse_usage(reading, "a step, \"force\" or \"\", and settings");
    return settings_of(reading, &ret_entry->settings, &err) ? refuse(reading, &err) : WIRE_OK;
}

static enum wire_status read_skip(const struct reading *reading, struct ledger_entry *ret_entry,
                                  bool *ret_force)
{
    const Ballast__V1__Admin *admin = reading->admin;
    ret_entry->kind = LEDGER_SKIP;
    if (admin->n_arguments != 3 || !read_step(admin->arguments[0], &ret_entry->step) ||
        !read_step(admin->arguments[1], &ret_entry->last_step) ||
        !read_force(admin->arguments[2], ret_force))
        return refuse_usage(reading, "a first step, a last one, and \"force\" or \"\"");
    return WIRE_OK;
}

static enum wire_status find_shard(const struct reading *reading, struct ledger_entry *ret_entry)
{
    const struct corpus *corpus = reading->server->corpus;
    const char *source_name = reading->admin->arguments[2], *name = reading->admin->arguments[3];
    size_t index = corpus_find_source(corpus, source_name), found = 0, number = 0;
    if (index == corpus->source_count) {
        snprintf(reading->why, reading->bytes, "there is no source '%.80s' in this job",
                 source_name);
        return WIRE_BAD_REQUEST;
    }
    const struct source *source = &corpus->sources[index];
    for (size_t i = 0; i < source->shard_count; i++)
        if (strcmp(source_shard_name(source, i), name) == 0) {
            number = i;
            found++;
        }
    if (found != 1) {
        snprintf(reading->why, reading->bytes, "source %s has %zu shards of the name '%.200s'",
                 source->name, found, name);
        return WIRE_BAD_REQUEST;
    }
    ret_entry->shard = (uint32_t)number;
    ret_entry->source = strdup(source_name);
    ret_entry->shard_name = strdup(name);
    return ret_entry->source && ret_entry->shard_name ? WIRE_OK : WIRE_BUSY;
}

/* Dropped once more it would only have other digests than on the other replicas. */
static enum wire_status check_kept(const struct reading *reading, const struct ledger_entry *entry)
{
    const struct job_ledger *ledger = &reading->server->lineage->history->ledger;
    uint64_t since;
    if (!job_ledger_drops(ledger, entry->source, entry->shard, &since) || since > entry->step)
        return WIRE_OK;
    snprintf(reading->why, reading->bytes,
             "the shard %.200s is dropped from step %" PRIu64 " on already: nothing changes",
             entry->shard_name, since);
    return WIRE_BAD_REQUEST;
}

static enum wire_status read_drop(const struct reading *reading, struct ledger_entry *ret_entry,
                                  bool *ret_force)
{
    const Ballast__V1__Admin *admin = reading->admin;
    ret_entry->kind = LEDGER_DROP;
    if (admin->n_arguments != 4 || !read_step(admin->arguments[0], &ret_entry->step) ||
        !read_force(admin->arguments[1], ret_force))
        return refuse_usage(reading, "a step, \"force\" or \"\", a source, and a shard's name");
    enum wire_status status = find_shard(reading, ret_entry);
    return status == WIRE_OK ? check_kept(reading, ret_entry) : status;
}

static enum wire_status read_entry(const struct reading *reading, struct ledger_entry *ret_entry,
                                   bool *ret_force)
{
    const char *command = reading->admin->command;
    if (strcmp(command, ledger_kind_name(LEDGER_SKIP)) == 0)
        return read_skip(reading, ret_entry, ret_force);
    if (strcmp(command, ledger_kind_name(LEDGER_DROP)) == 0)
        return read_drop(reading, ret_entry, ret_force);
    return read_reshape(reading, ret_entry, ret_force);
}

enum wire_status ledger_command_read(struct server *server, const Ballast__V1__Admin *admin,
                                     struct ledger_entry *ret_entry, char *why, size_t bytes)
{
    struct reading reading = { server, admin, why, bytes };
    struct ledger_entry entry = { .settings = NULL };
    bool force = false;
    enum wire_status status = check_directory(&reading);
    if (status == WIRE_OK)
        status = read_entry(&reading, &entry, &force);
    if (status == WIRE_OK)
        status = check_served(&reading, entry.step, force);
    if (status == WIRE_OK && server->changing_from != UINT64_MAX) {
        snprintf(why, bytes, "another change of the ledger is under way, ask again");
        status = WIRE_BUSY;
    }
    if (status == WIRE_OK)
        *ret_entry = entry;
    else
        ledger_entry_fini(&entry);
    return status;
}

int ledger_command_begin(struct server *server, const struct ledger_entry *entry, struct error *err)
{
    int failed = planner_thread_change(server->planner, entry, err);
    if (failed)
        return failed;
    server->changing_from = entry->step;
    requests_answer_from(server, entry->step, WIRE_BUSY,
                         "the ledger is being changed from this step on, ask again");
    return 0;
}

static void tell(struct server *server, const struct planner_change *change)
{
    const struct ledger_entry *entry = &change->entry;
    const char *kind = ledger_kind_name(entry->kind);
    char digest[DIGEST_TEXT_BYTES];
    if (change->error.code)
        log_write(server->log, LOG_LEVEL_ERROR, "the ledger stays as it was",
                  (struct log_field[]){ log_text("wanted", kind), log_uint("step", entry->step),
                                        log_text("error", change->error.text), log_end() });
    else
        log_write(
            server->log, LOG_LEVEL_INFO, "ledger changed",
            (struct log_field[]){ log_text("entry", kind), log_uint("step", entry->step),
                                  log_uint("entries", lineage_entries(change->lineage)),
                                  log_text("digest", digest_text(change->lineage->ledger, digest)),
                                  log_end() });
}

/* By force: whoever was further comes back, and has had nothing of what holds from now on. */
static void take_back_requested(struct server *server, uint64_t step)
{
    if (!server->has_requested || server->requested_step < step)
        return;
    server->has_requested = step > 0;
    server->requested_step = step > 0 ? step - 1 : 0;
}

void ledger_command_end(struct server *server, const struct planner_change *change)
{
    uint64_t step = change->entry.step;
    tell(server, change);
    server->changing_from = UINT64_MAX;
    if (change->error.code) {
        if (change->entry.kind == LEDGER_DROP)
            bad_shards_refused(server, &change->entry, &change->error);
        return;
    }
    server_follow(server, change->lineage);
    payload_cache_drop_from(&server->cache, step);
    bad_steps_drop_from(&server->bad_steps, step);
    whole_steps_drop_from(&server->whole, step);
    sessions_void(&server->sessions, step);
    take_back_requested(server, step);
    if (server->ahead.step >= step)
        server->ahead = (struct payload_key){ .step = step };
}
