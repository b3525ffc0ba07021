#include "serve/operator_json.h"

#include "base/json_text.h"
#include "serve/request.h"

/* JSON integers are signed; no counter gets near the difference. */
static json_t *number(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *number_or_null(bool known, uint64_t value)
{
    return known ? number(value) : json_null();
}

/* ---- status ---- */

static json_t *refusals(const struct server_counters *counters, const struct access *access)
{
    json_t *object = json_object();
    for (uint32_t i = 1; i < SERVER_STATUSES; i++)
        if (counters->refusals[i])
            json_put(object, wire_status_name(i), number(counters->refusals[i]));
    for (int i = 0; i < ACCESS_DENIALS; i++)
        if (access->denied[i])
            json_put(object, access_denial_name((enum access_denial)i), number(access->denied[i]));
    return object;
}

static json_t *cache_facts(const struct server *server)
{
    json_t *object = json_object();
    json_put(object, "bytes", number(server->cache.bytes));
    json_put(object, "limit_bytes", number(server->cache.limit_bytes));
    json_put(object, "payloads", number(server->cache.count));
    json_put(object, "in_flight_bytes", number(atomic_load(&server->flights.bytes)));
    return object;
}

static json_t *request_facts(const struct server_counters *counters)
{
    json_t *object = json_object();
    json_put(object, "hello", number(counters->hellos));
    json_put(object, "get_batch", number(counters->get_batches));
    json_put(object, "ack", number(counters->acks));
    return object;
}

static void set_planning(json_t *object, const struct plan_store_facts *facts)
{
    bool busy = !facts->idle && facts->target >= facts->at;
    json_put(object, "planned_steps", number(facts->made));
    json_put(object, "planning_at", number_or_null(busy, facts->at));
    json_put(object, "planning_target", number_or_null(busy, facts->target));
}

static json_t *snapshot_facts(const struct server *server)
{
    if (!server->snapshots)
        return json_null();
    struct snapshots_facts facts;
    snapshots_facts(server->snapshots, &facts);
    json_t *object = json_object();
    json_put(object, "directory", json_string(server->config->state.directory));
    json_put(object, "last_snapshot_step", number_or_null(facts.any, facts.last_step));
    json_put(object, "snapshot_errors", number(facts.errors));
    json_put(object, "written", number(facts.written));
    json_put(object, "loaded", number(facts.loaded));
    json_put(object, "skipped", number(facts.skipped));
    return object;
}

static json_t *ledger_facts(const struct lineage *lineage)
{
    char digest[DIGEST_TEXT_BYTES];
    const struct job_ledger *ledger = &lineage->history->ledger;
    uint64_t last = ledger->count ? ledger->entries[ledger->count - 1].step : 0;
    json_t *object = json_object();
    json_put(object, "entries", number(ledger->count));
    json_put(object, "last_step", number_or_null(ledger->count > 0, last));
    json_put(object, "digest",
             lineage_is_plain(lineage) ? json_null()
                                       : json_string(digest_text(lineage->ledger, digest)));
    json_put(object, "first_step", number(ledger->origin.step));
    return object;
}

static size_t count_dropped(const struct job_ledger *ledger)
{
    size_t count = 0;
    for (size_t i = 0; i < ledger->count; i++)
        count += ledger->entries[i].kind == LEDGER_DROP;
    return count;
}

static json_t *bad_shard_facts(const struct server *server)
{
    size_t left_out = 0;
    for (size_t i = 0; i < server->corpus->source_count; i++)
        left_out += server->corpus->sources[i].left_out_count;
    const struct bad_steps *bad = &server->bad_steps;
    json_t *object = json_object();
    json_put(object, "left_out", number(left_out));
    json_put(object, "dropped", number(count_dropped(&server->lineage->history->ledger)));
    json_put(object, "bad_steps", number(bad_steps_count(bad)));
    json_put(object, "bad_steps_found", number(bad->found));
    json_put(object, "failures", number(bad->failures));
    return object;
}

static void set_progress(json_t *object, const struct server *server)
{
    struct plan_store_facts facts;
    plan_store_facts(server->plans, &facts);
    bool ended = facts.end != PLAN_STORE_NO_END;
    json_put(object, "planned_step", number_or_null(facts.planned > 0, facts.planned - 1));
    json_put(object, "requested_step",
             number_or_null(server->has_requested, server->requested_step));
    json_put(object, "steps", number_or_null(ended, facts.end));
    json_put(object, "replanned_steps", number(facts.replanned));
    set_planning(object, &facts);
}

char *operator_json_status(const struct server *server)
{
    const struct server_counters *counters = &server->counters;
    char digest[DIGEST_TEXT_BYTES];
    json_t *object = json_object();
    json_put(object, "job", json_string(server->config->job));
    json_put(object, "server", json_string("ballastd " BALLAST_VERSION));
    json_put(object, "state",
             json_string(server->phase >= SERVER_DRAINING ? "draining" : "serving"));
    json_put(object, "uptime_s", number((server_now_ms(server) - server->started_ms) / 1000));
    json_put(object, "job_digest", json_string(digest_text(server->lineage->digests[0], digest)));
    set_progress(object, server);
    json_put(object, "clients", number(server->sessions.table.count));
    json_put(object, "waiting_requests", number(server->waiting.count));
    json_put(object, "batches", number(counters->batches));
    json_put(object, "bytes_sent", number(counters->bytes_sent));
    json_put(object, "unreachable", number(counters->unreachable));
    json_put(object, "congested", number(counters->congested));
    json_put(object, "requests", request_facts(counters));
    json_put(object, "refusals", refusals(counters, &server->access));
    json_put(object, "cache", cache_facts(server));
    json_put(object, "snapshots", snapshot_facts(server));
    json_put(object, "bad_shards", bad_shard_facts(server));
    json_put(object, "ledger", ledger_facts(server->lineage));
    return json_text(object, JSON_COMPACT);
}

char *operator_json_change(const struct planner_change *change)
{
    json_t *object = ledger_facts(change->lineage);
    json_put(object, "step", number(change->entry.step));
    return json_text(object, JSON_COMPACT);
}

char *operator_json_snapshot(const struct server *server, const struct snapshots_answer *answer)
{
    json_t *object = json_object();
    json_put(object, "step", number(answer->step));
    json_put(object, "bytes", number(answer->bytes));
    json_put(object, "directory", json_string(server->config->state.directory));
    return json_text(object, JSON_COMPACT);
}

/* ---- ranks ---- */

static uint64_t lag_of(const struct server *server, const struct session *session)
{
    if (!session->has_acked && !session->has_requested)
        return 0;
    uint64_t at = session->has_acked ? session->acked_step : session->requested_step;
    return server->front > at ? server->front - at : 0;
}

static json_t *rank_new(const struct server *server, const struct session *session)
{
    uint64_t now_ms = server_now_ms(server);
    json_t *object = json_object();
    json_put(object, "dp", number(session->dp));
    json_put(object, "cp", number(session->cp));
    json_put(object, "pp", number(session->pp));
    json_put(object, "tp", number(session->tp));
    json_put(object, "client", json_string(session->client));
    json_put(object, "user", json_string(session->user));
    /* Any 64 bits: shown as JSON's signed integer, which tells two of them apart as well. */
    json_put(object, "incarnation", json_integer((json_int_t)session->incarnation));
    json_put(object, "requested_step",
             number_or_null(session->has_requested, session->requested_step));
    json_put(object, "acked_step", number_or_null(session->has_acked, session->acked_step));
    json_put(object, "lag", number(lag_of(server, session)));
    json_put(object, "waiting", number(session->waiting));
    json_put(object, "oldest_wait_ms", number(request_oldest_ms(server, session)));
    json_put(object, "batches", number(session->batches));
    json_put(object, "bytes", number(session->bytes));
    json_put(object, "in_flight_bytes", number(atomic_load(&session->flight->bytes)));
    json_put(object, "idle_ms", number(now_ms - session->seen_ms));
    return object;
}

char *operator_json_ranks(const struct server *server)
{
    json_t *array = json_array();
    const struct list *head = &server->sessions.used;
    for (struct list *at = head->next; at != head; at = at->next) {
        const struct session *session = list_entry(at, struct session, used);
        if (session->greeted)
            json_push(array, rank_new(server, session));
    }
    return json_text(array, JSON_COMPACT);
}

/* ---- queues ---- */

static json_t *place_new(const struct waiting_place *place)
{
    json_t *object = json_object();
    json_put(object, "name", json_string(place->name));
    json_put(object, "pieces", number(place->pieces));
    json_put(object, "tokens", number(place->tokens));
    json_put(object, "oldest", number(place->oldest));
    return object;
}

char *operator_json_queues(const struct server *server, const struct planner_report *report)
{
    const struct config *config = history_config(server->lineage->history, report->step);
    uint64_t pieces = 0, tokens = 0, oldest = report->step;
    json_t *places = json_array();
    for (size_t i = 0; i < report->place_count; i++) {
        const struct waiting_place *place = &report->places[i];
        pieces += place->pieces;
        tokens += place->tokens;
        oldest = place->oldest < oldest ? place->oldest : oldest;
        json_push(places, place_new(place));
    }
    json_t *object = json_object();
    json_put(object, "step", number(report->step));
    json_put(object, "policy", json_string(config->packing.policy));
    json_put(object, "places", places);
    json_put(object, "pieces", number(pieces));
    json_put(object, "tokens", number(tokens));
    json_put(object, "oldest", number(oldest));
    return json_text(object, JSON_COMPACT);
}

/* ---- sources ---- */

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static json_t *source_new(const struct source *source, const struct source_cursor *cursor,
                          double target, double realised)
{
    const char *format = source->format == SOURCE_LENGTHS ? "lengths" : "megatron";
    json_t *object = json_object();
    json_put(object, "name", json_string(source->name));
    json_put(object, "format", json_string(format));
    json_put(object, "shards", number(source->shard_count));
    json_put(object, "documents", number(source->documents));
    json_put(object, "left_out_shards", number(source->left_out_count));
    json_put(object, "empty_documents", number(source->empty_documents));
    json_put(object, "tokens", number(source->tokens));
    json_put(object, "target_share", json_real(target));
    json_put(object, "realised_share", json_real(realised));
    json_put(object, "epoch", number(cursor->epoch));
    json_put(object, "position", number(cursor->position));
    json_put(object, "served_documents", number(cursor->documents));
    json_put(object, "served_tokens", number(cursor->tokens));
    json_put(object, "dropped_documents", number(cursor->dropped_documents));
    json_put(object, "dropped_tokens", number(cursor->dropped_tokens));
    return object;
}

char *operator_json_sources(const struct server *server, const struct planner_report *report)
{
    const struct corpus *corpus = server->corpus;
    const struct config *config = history_config(server->lineage->history, report->step);
    double weights = 0, tokens = 0;
    for (size_t i = 0; i < corpus->source_count; i++) {
        weights += config->sources[i].weight;
        tokens += (double)report->cursors[i].blended;
    }
    json_t *array = json_array();
    for (size_t i = 0; i < corpus->source_count; i++) {
        const struct source_cursor *cursor = &report->cursors[i];
        json_push(array,
                  source_new(&corpus->sources[i], cursor, share(config->sources[i].weight, weights),
                             share((double)cursor->blended, tokens)));
    }
    return json_text(array, JSON_COMPACT);
}
