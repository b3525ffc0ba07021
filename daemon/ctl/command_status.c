/* ballastctl status: what a daemon does. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl/daemon.h"
#include "ctl/human.h"
#include "ctl/table.h"

#define FAR_STEPS 1000

static const struct column columns[] = { { NULL, ALIGN_LEFT, 0 }, { NULL, ALIGN_LEFT, 0 } };

struct status {
    const char *job, *server, *state, *job_digest;
    double uptime_s;
    json_t *planned, *requested, *steps; /* a number, or null where there is none yet */
    json_int_t clients, waiting_requests, batches, bytes_sent, replanned_steps;
    json_t *requests, *refusals;           /* how many of each kind, by name */
    json_int_t unreachable, congested;     /* replies that could not be delivered */
    json_t *planning_at, *planning_target; /* numbers while the planner is busy */
    json_t *snapshots;                     /* an object, or null where none are kept */
    json_t *ledger;                        /* an object */
    json_t *bad_shards;                    /* an object */
    json_int_t cache_bytes, cache_limit_bytes, cache_payloads, in_flight_bytes;
};

static int read_status(json_t *answer, struct status *status, struct error *err)
{
    json_error_t why;
    if (json_unpack_ex(answer, &why, 0,
                       "{ss ss ss ss sF so so so sI sI sI sI sI sI sI so so s{sI sI sI sI} s?o s?o "
                       "s?o s?o s?o}",
                       "job", &status->job, "server", &status->server, "state", &status->state,
                       "job_digest", &status->job_digest, "uptime_s", &status->uptime_s,
                       "planned_step", &status->planned, "requested_step", &status->requested,
                       "steps", &status->steps, "clients", &status->clients, "waiting_requests",
                       &status->waiting_requests, "batches", &status->batches, "bytes_sent",
                       &status->bytes_sent, "replanned_steps", &status->replanned_steps,
                       "unreachable", &status->unreachable, "congested", &status->congested,
                       "requests", &status->requests, "refusals", &status->refusals, "cache",
                       "bytes", &status->cache_bytes, "limit_bytes", &status->cache_limit_bytes,
                       "payloads", &status->cache_payloads, "in_flight_bytes",
                       &status->in_flight_bytes, "planning_at", &status->planning_at,
                       "planning_target", &status->planning_target, "snapshots", &status->snapshots,
                       "ledger", &status->ledger, "bad_shards", &status->bad_shards))
        return daemon_misfit(&why, err);
    return 0;
}

/* "up to step 1,207", or "no step yet" */
static const char *reach_text(const json_t *step, char text[2 * HUMAN_BYTES])
{
    char number[HUMAN_BYTES];
    if (json_is_integer(step))
        snprintf(text, 2 * HUMAN_BYTES, "up to step %s",
                 human_count((uint64_t)json_integer_value(step), number));
    else
        snprintf(text, 2 * HUMAN_BYTES, "no step yet");
    return text;
}

static void describe_state(struct table *facts, const struct status *status)
{
    char text[HUMAN_BYTES];
    bool serving = !strcmp(status->state, "serving");
    table_cell(facts, "job");
    table_styled(facts, STYLE_TITLE, "%s", status->job);
    table_cell(facts, "state");
    table_styled(facts, serving ? STYLE_GOOD : STYLE_WARNING, "%s, up %s", status->state,
                 human_duration((uint64_t)(status->uptime_s * 1000), text));
    table_cell(facts, "server");
    table_cell(facts, "%s", status->server);
    table_cell(facts, "job digest");
    table_cell(facts, "%s", status->job_digest);
}

static void describe_steps(struct table *facts, const struct status *status)
{
    char reach[2 * HUMAN_BYTES], text[HUMAN_BYTES];
    table_cell(facts, "planned");
    if (json_is_integer(status->steps))
        table_cell(facts, "%s of a job of %s", reach_text(status->planned, reach),
                   human_count((uint64_t)json_integer_value(status->steps), text));
    else
        table_cell(facts, "%s", reach_text(status->planned, reach));
    table_cell(facts, "asked for");
    table_cell(facts, "%s; %s past steps planned again", reach_text(status->requested, reach),
               human_count((uint64_t)status->replanned_steps, text));
}

/* Only where the way is long enough to be seen. */
static void describe_far_step(struct table *facts, const struct status *status)
{
    char at[HUMAN_BYTES], target[HUMAN_BYTES];
    if (!json_is_integer(status->planning_at) || !json_is_integer(status->planning_target))
        return;
    json_int_t from = json_integer_value(status->planning_at);
    json_int_t to = json_integer_value(status->planning_target);
    if (to - from < FAR_STEPS)
        return;
    table_cell(facts, "planning");
    table_styled(facts, STYLE_WARNING, "step %s, on the way to %s", human_count((uint64_t)from, at),
                 human_count((uint64_t)to, target));
}

static int describe_snapshots(struct table *facts, const struct status *status, struct error *err)
{
    const char *directory;
    json_t *last;
    json_int_t errors, loaded;
    json_error_t why;
    if (!json_is_object(status->snapshots))
        return 0;
    if (json_unpack_ex(status->snapshots, &why, 0, "{ss so sI sI}", "directory", &directory,
                       "last_snapshot_step", &last, "snapshot_errors", &errors, "loaded", &loaded))
        return daemon_misfit(&why, err);
    char step[HUMAN_BYTES], failed[HUMAN_BYTES];
    table_cell(facts, "snapshots");
    if (json_is_integer(last))
        table_cell(facts, "last before step %s, in %s",
                   human_count((uint64_t)json_integer_value(last), step), directory);
    else
        table_cell(facts, "none yet, in %s", directory);
    if (errors) {
        table_cell(facts, "%s", "");
        table_styled(facts, STYLE_WARNING, "%s could not be written, see the log",
                     human_count((uint64_t)errors, failed));
    }
    return 0;
}

/* Only where there is something to be told. */
static int describe_bad_shards(struct table *facts, const struct status *status, struct error *err)
{
    json_int_t left_out, dropped, steps;
    json_error_t why;
    if (!json_is_object(status->bad_shards))
        return 0;
    if (json_unpack_ex(status->bad_shards, &why, 0, "{sI sI sI}", "left_out", &left_out, "dropped",
                       &dropped, "bad_steps", &steps))
        return daemon_misfit(&why, err);
    char shards[HUMAN_BYTES], gone[HUMAN_BYTES], bad[HUMAN_BYTES];
    if (left_out == 0 && dropped == 0 && steps == 0)
        return 0;
    table_cell(facts, "bad shards");
    table_styled(facts, STYLE_WARNING,
                 "%s left out, %s dropped; %s steps cannot be served, see the log",
                 human_count((uint64_t)left_out, shards), human_count((uint64_t)dropped, gone),
                 human_count((uint64_t)steps, bad));
    return 0;
}

static void describe_traffic(struct table *facts, const struct status *status)
{
    char clients[HUMAN_BYTES], waiting[HUMAN_BYTES], batches[HUMAN_BYTES], bytes[HUMAN_BYTES];
    table_cell(facts, "clients");
    table_cell(facts, "%s", human_count((uint64_t)status->clients, clients));
    table_cell(facts, "waiting");
    table_styled(facts, status->waiting_requests ? STYLE_WARNING : STYLE_PLAIN, "%s requests",
                 human_count((uint64_t)status->waiting_requests, waiting));
    table_cell(facts, "served");
    table_cell(facts, "%s batches, %s", human_count((uint64_t)status->batches, batches),
               human_bytes((uint64_t)status->bytes_sent, bytes));
}

/* One row for each name that has been counted, the title on the first only. */
static void describe_counts(struct table *facts, const char *title, json_t *counts,
                            enum style style)
{
    const char *name;
    json_t *count;
    bool first = true;
    json_object_foreach(counts, name, count)
    {
        char text[HUMAN_BYTES];
        if (json_integer_value(count) == 0)
            continue;
        table_cell(facts, "%s", first ? title : "");
        table_styled(facts, style, "%s %s", human_count((uint64_t)json_integer_value(count), text),
                     name);
        first = false;
    }
    if (first) {
        table_cell(facts, "%s", title);
        table_cell(facts, "none");
    }
}

static void describe_losses(struct table *facts, const struct status *status)
{
    char unreachable[HUMAN_BYTES], congested[HUMAN_BYTES];
    if (!status->unreachable && !status->congested)
        return;
    table_cell(facts, "undelivered");
    table_styled(facts, STYLE_WARNING,
                 "%s replies to clients that had gone, %s to clients too slow",
                 human_count((uint64_t)status->unreachable, unreachable),
                 human_count((uint64_t)status->congested, congested));
}

static void describe_cache(struct table *facts, const struct status *status)
{
    char bytes[HUMAN_BYTES], limit[HUMAN_BYTES], payloads[HUMAN_BYTES], in_flight[HUMAN_BYTES];
    table_cell(facts, "cache");
    table_cell(facts, "%s of %s, %s payloads; %s on their way",
               human_bytes((uint64_t)status->cache_bytes, bytes),
               human_bytes((uint64_t)status->cache_limit_bytes, limit),
               human_count((uint64_t)status->cache_payloads, payloads),
               human_bytes((uint64_t)status->in_flight_bytes, in_flight));
}

/* Only of a job that was changed on its way. */
static void describe_ledger(struct table *facts, const struct status *status)
{
    json_int_t entries, last;
    const char *digest;
    if (json_unpack(status->ledger, "{sI sI ss}", "entries", &entries, "last_step", &last, "digest",
                    &digest))
        return;
    char count[HUMAN_BYTES], step[HUMAN_BYTES];
    table_cell(facts, "ledger");
    table_cell(facts, "%s entr%s, the last from step %s on; digest %s",
               human_count((uint64_t)entries, count), entries == 1 ? "y" : "ies",
               human_count((uint64_t)last, step), digest);
}

static int show_status(json_t *answer, struct output *out, struct error *err)
{
    struct status status = { 0 };
    int code = read_status(answer, &status, err);
    if (code)
        return code;
    struct table *facts = table_new(columns, 2);
    describe_state(facts, &status);
    describe_steps(facts, &status);
    describe_far_step(facts, &status);
    describe_traffic(facts, &status);
    describe_counts(facts, "requests", status.requests, STYLE_PLAIN);
    describe_counts(facts, "refused", status.refusals, STYLE_WARNING);
    describe_losses(facts, &status);
    describe_cache(facts, &status);
    describe_ledger(facts, &status);
    code = describe_snapshots(facts, &status, err);
    if (!code)
        code = describe_bad_shards(facts, &status, err);
    if (!code)
        code = table_print(facts, out, err);
    table_free(facts);
    return code;
}

int run_status(const struct arguments *arguments, struct output *out, struct error *err)
{
    return daemon_ask(arguments, show_status, out, err);
}

static int show_drain(json_t *answer, struct output *out, struct error *err)
{
    (void)answer;
    (void)err;
    output_print(out, "draining: the daemon answers what it has under way, then exits\n");
    return 0;
}

int run_drain(const struct arguments *arguments, struct output *out, struct error *err)
{
    return daemon_ask(arguments, show_drain, out, err);
}
