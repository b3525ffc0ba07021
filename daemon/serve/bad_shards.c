#include "serve/bad_shards.h"

#include <inttypes.h>
#include <stdio.h>

#include "serve/ledger_commands.h"
#include "serve/reply.h"

#define STUCK_RECENT_MS 5000 /* a rank that is told to ask again does so well within this time */
#define TRY_AGAIN_MS 30000   /* after the ledger could not be written */

bool bad_shards_may_drop(const struct server *server)
{
    return server->config->on_bad_shard == BAD_SHARD_SKIP && server->snapshots;
}

static bool is_rank(const struct session *session)
{
    return session->greeted && !session->superseded;
}

/* A rank that may have data from another daemon: nobody here knows what, nor when it goes there. */
static bool any_elsewhere(const struct server *server)
{
    const struct list *all = &server->sessions.used;
    for (const struct list *at = all->next; at != all; at = at->next) {
        const struct session *session = list_entry(at, struct session, used);
        if (is_rank(session) && session->elsewhere)
            return true;
    }
    return false;
}

/* A rank whose trainer may have been given some of the step; NULL: there is none. */
static const struct session *find_holder(const struct server *server, uint64_t step)
{
    const struct list *all = &server->sessions.used;
    for (const struct list *at = all->next; at != all; at = at->next) {
        const struct session *session = list_entry(at, struct session, used);
        if (is_rank(session) && sent_steps_has(&session->sent, step))
            return session;
    }
    return NULL;
}

/* ---- what a peer is told ---- */

static bool is_stuck(const struct server *server, const struct session *session)
{
    return session->stuck && server_now_ms(server) - session->stuck_ms <= STUCK_RECENT_MS;
}

/* Of several bad steps that it asks for ahead, the first is the one that it waits for. */
static void note_stuck(const struct server *server, struct session *session, uint64_t step)
{
    if (is_stuck(server, session) && session->stuck_step < step)
        return;
    session->stuck = true;
    session->stuck_step = step;
    session->stuck_ms = server_now_ms(server);
}

static bool waits(const struct server *server, const struct session *session, uint64_t step)
{
    return is_rank(session) && is_stuck(server, session) && session->stuck_step == step;
}

static size_t count_waiting(const struct server *server, uint64_t step)
{
    size_t count = 0;
    const struct list *all = &server->sessions.used;
    for (const struct list *at = all->next; at != all; at = at->next)
        count += waits(server, list_entry(at, struct session, used), step);
    return count;
}

/* How many must wait: all that fetch batches. */
static uint64_t readers(const struct server *server, uint64_t step)
{
    const struct parallel *parallel = &history_config(server->lineage->history, step)->parallel;
    uint64_t all = (uint64_t)parallel->dp * parallel->cp * parallel->pp * parallel->tp;
    return server->config->serve.readers ? server->config->serve.readers : all;
}

static void tell(const struct server *server, const struct bad_step *bad, char *why, size_t bytes)
{
    const struct session *holder = find_holder(server, bad->key.step);
    if (holder)
        snprintf(why, bytes,
                 "%s; rank dp %u, cp %u, pp %u, tp %u was sent some of step %" PRIu64
                 " already: start all ranks again from a checkpoint before it, and the shard is "
                 "dropped",
                 bad->error.text, holder->dp, holder->cp, holder->pp, holder->tp, bad->key.step);
    else
        snprintf(why, bytes,
                 "%s; the shard is dropped when all ranks wait for step %" PRIu64
                 ", %zu of %" PRIu64 " do (serve.readers): ask again",
                 bad->error.text, bad->key.step, count_waiting(server, bad->key.step),
                 readers(server, bad->key.step));
}

enum wire_status bad_shards_answer(struct server *server, struct session *session,
                                   const struct bad_step *bad, char *why, size_t bytes)
{
    bool may = bad_shards_may_drop(server), elsewhere = may && any_elsewhere(server);
    if (!may || elsewhere || bad->refused) {
        snprintf(why, bytes, "%s%s", bad->error.text,
                 elsewhere ? "; ballastctl drop, on every daemon of the job, goes on without the "
                             "shard"
                           : "");
        return reply_status(bad->error.code);
    }
    note_stuck(server, session, bad->key.step);
    uv_async_send(&server->wake); /* it may be the last that was waited for */
    tell(server, bad, why, bytes);
    return WIRE_BUSY;
}

/* ---- dropping ---- */

/* Does one wait for the step on behalf of this rank? */
static bool rank_waits(const struct server *server, uint32_t dp, uint32_t cp, uint64_t step)
{
    const struct list *all = &server->sessions.used;
    for (const struct list *at = all->previous; at != all; at = at->previous) {
        const struct session *session = list_entry(at, struct session, used);
        if (session->dp == dp && session->cp == cp && waits(server, session, step))
            return true;
    }
    return false;
}

static bool all_ranks_wait(const struct server *server, uint64_t step)
{
    const struct parallel *parallel = &history_config(server->lineage->history, step)->parallel;
    if (count_waiting(server, step) < readers(server, step))
        return false;
    for (uint32_t dp = 0; dp < parallel->dp; dp++)
        for (uint32_t cp = 0; cp < parallel->cp; cp++)
            if (!rank_waits(server, dp, cp, step))
                return false;
    return true;
}

void bad_shards_refused(struct server *server, const struct ledger_entry *entry,
                        const struct error *error)
{
    struct bad_step *bad = bad_steps_find(&server->bad_steps, entry->step);
    if (!bad)
        return;
    bad->refused = error->code == EX_USAGE || error->code == EX_DATAERR;
    bad->not_before_ms = server_now_ms(server) + TRY_AGAIN_MS;
}

static void drop(struct server *server, const struct bad_step *bad)
{
    const struct source *source = &server->corpus->sources[bad->shard.source];
    const struct ledger_entry entry = { .kind = LEDGER_DROP,
                                        .step = bad->key.step,
                                        .source = source->name,
                                        .shard = (uint32_t)bad->shard.number,
                                        .shard_name = (char *)(uintptr_t)source_shard_name(
                                            source, bad->shard.number) };
    struct error err = { 0 };
    log_write(server->log, LOG_LEVEL_ERROR, "dropping a bad shard (on_bad_shard: skip)",
              (struct log_field[]){ log_uint("from_step", entry.step),
                                    log_text("source", entry.source),
                                    log_text("shard", entry.shard_name),
                                    log_text("reason", bad->error.text), log_end() });
    if (!ledger_command_begin(server, &entry, &err))
        return;
    bad_shards_refused(server, &entry, &err);
    log_write(server->log, LOG_LEVEL_ERROR, "the ledger cannot be changed",
              (struct log_field[]){ log_text("error", err.text), log_end() });
}

static bool is_ready(const struct server *server, const struct bad_step *bad)
{
    return bad->known && bad->again && !bad->refused &&
           server_now_ms(server) >= bad->not_before_ms && !find_holder(server, bad->key.step) &&
           all_ranks_wait(server, bad->key.step);
}

void bad_shards_drop(struct server *server)
{
    if (!bad_shards_may_drop(server) || server->phase != SERVER_SERVING ||
        bad_steps_count(&server->bad_steps) == 0 || any_elsewhere(server))
        return;
    for (unsigned i = 0; i < BAD_STEPS_KNOWN && server->changing_from == UINT64_MAX; i++)
        if (is_ready(server, &server->bad_steps.steps[i]))
            drop(server, &server->bad_steps.steps[i]);
}
