#include "serve/events.h"

#include <signal.h>
#include <stdio.h>

#include "serve/bad_shards.h"
#include "serve/notify.h"
#include "serve/order.h"
#include "serve/request.h"
#include "serve/signals.h"

#define HOUSEKEEPING_MS 1000
#define FAR_STEPS 10000 /* from here on, somebody may wonder what the planner is at */
#define FAR_TOLD_MS 5000
#define FRONT_RECENT_MS 5000 /* ranks heard of within this time say where the job stands */

uint64_t server_now_ms(const struct server *server)
{
    return uv_now(&server->loop);
}

void server_count(struct server *server, enum wire_status status)
{
    if (status != WIRE_OK && (unsigned)status < SERVER_STATUSES)
        server->counters.refusals[status]++;
}

void events_wake(void *context)
{
    struct server *server = context;
    uv_async_send(&server->wake);
}

/* ---- deadlines ---- */

static void on_deadline_timer(uv_timer_t *timer);

static void set_deadline_timer(struct server *server)
{
    const struct deadline *first = deadlines_first(&server->deadlines);
    if (!first) {
        uv_timer_stop(&server->deadline_timer);
        return;
    }
    uint64_t now_ms = server_now_ms(server);
    uv_timer_start(&server->deadline_timer, on_deadline_timer,
                   first->at_ms > now_ms ? first->at_ms - now_ms : 0, 0);
}

static void check_drained(struct server *server);

static void on_deadline_timer(uv_timer_t *timer)
{
    struct server *server = timer->data;
    struct deadline *first;
    while ((first = deadlines_first(&server->deadlines)) && first->at_ms <= server_now_ms(server)) {
        deadlines_remove(&server->deadlines, first);
        first->passed(server, first);
    }
    set_deadline_timer(server);
    check_drained(server);
}

bool server_add_deadline(struct server *server, struct deadline *deadline, uint64_t at_ms)
{
    if (!deadlines_add(&server->deadlines, deadline, at_ms))
        return false;
    if (deadlines_first(&server->deadlines) == deadline)
        set_deadline_timer(server);
    return true;
}

/* The timer is left alone: at worst it finds nothing to do. */
void server_remove_deadline(struct server *server, struct deadline *deadline)
{
    deadlines_remove(&server->deadlines, deadline);
}

/* ---- the end ---- */

static void stop(struct server *server)
{
    requests_answer_from(server, 0, WIRE_DRAINING, NULL);
    server->phase = SERVER_STOPPED;
    uv_stop(&server->loop);
}

static void check_drained(struct server *server)
{
    if (server->phase == SERVER_DRAINING && server->waiting.count == 0)
        stop(server);
}

static void on_drain_timer(uv_timer_t *timer)
{
    stop(timer->data);
}

void server_drain(struct server *server)
{
    if (server->phase >= SERVER_DRAINING)
        return;
    server->phase = SERVER_DRAINING;
    uv_signal_stop(&server->on_terminate);
    uv_signal_stop(&server->on_interrupt);
    signals_exit_at_once(0);
    notify_stopping();
    log_write(
        server->log, LOG_LEVEL_INFO, "draining",
        (struct log_field[]){ log_uint("waiting_requests", server->waiting.count), log_end() });
    operators_cancel(server);
    uv_timer_start(&server->drain_timer, on_drain_timer, SERVER_DRAIN_MS, 0);
    uv_async_send(&server->wake); /* stops at once when nobody waits */
}

static void on_stop_signal(uv_signal_t *handle, int number)
{
    (void)number;
    server_drain(handle->data);
}

static void on_hangup_signal(uv_signal_t *handle, int number)
{
    (void)number;
    struct server *server = handle->data;
    struct error err = { 0 };
    if (!server->access.secured)
        log_write(server->log, LOG_LEVEL_WARNING,
                  "SIGHUP ignored: restart to read the configuration again", NULL);
    else if (access_reload(&server->access, &err))
        log_write(server->log, LOG_LEVEL_ERROR,
                  "the list of clients is bad, the one read before still holds",
                  (struct log_field[]){ log_text("error", err.text), log_end() });
    else
        log_write(
            server->log, LOG_LEVEL_INFO, "list of clients read again",
            (struct log_field[]){ log_uint("clients", server->access.list.count), log_end() });
}

/* ---- news ---- */

static void become_ready(struct server *server)
{
    char status[128];
    server->phase = SERVER_SERVING;
    snprintf(status, sizeof status, "serving on %.100s", server->config->serve.endpoint);
    notify_ready(status);
    log_write(server->log, LOG_LEVEL_INFO, "serving",
              (struct log_field[]){ log_text("job", server->config->job),
                                    log_text("endpoint", server->config->serve.endpoint),
                                    log_text("admin", server->config->serve.admin),
                                    log_text("curve", server->access.secured ? "yes" : "no"),
                                    log_end() });
}

static void on_end(struct server *server)
{
    struct plan_store_facts facts;
    plan_store_facts(server->plans, &facts);
    log_write(server->log, facts.end ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING,
              facts.end ? "end of data reached" : "the sources do not fill a single step",
              (struct log_field[]){ log_uint("steps", facts.end), log_end() });
    requests_answer_from(server, facts.end, WIRE_END, NULL);
    operators_on_end(server, facts.end);
}

static void on_failure(struct server *server, uint64_t step, const struct error *error)
{
    log_write(
        server->log, LOG_LEVEL_ERROR, "planning failed",
        (struct log_field[]){ log_uint("step", step), log_text("error", error->text), log_end() });
    requests_answer_from(server, step, reply_status(error->code), error->text);
    operators_on_failure(server, step, error);
    if (server->phase == SERVER_STARTING) {
        server->fatal = *error;
        stop(server);
    }
}

static void collect_plans(struct server *server)
{
    struct plan_news news;
    plan_store_news(server->plans, &news);
    for (size_t i = 0; i < news.step_count; i++) {
        requests_on_plan(server, news.steps[i]);
        operators_on_plan(server, news.steps[i]);
    }
    if (news.ended)
        on_end(server);
    if (server->phase == SERVER_STARTING && (news.step_count || news.ended))
        become_ready(server);
    if (news.failed)
        on_failure(server, news.failed_step, &news.error);
}

static struct bad_shard shard_of(const struct server *server, const struct piece *piece)
{
    const struct source *source = &server->corpus->sources[piece->source];
    return (struct bad_shard){ piece->source, source_shard_number(source, piece->document) };
}

/* A step is told once, however often its ranks ask again. */
static void note_failure(struct server *server, const struct gather_job *job)
{
    bool news = true;
    if (bad_steps_counts(&job->error))
        news =
            bad_steps_add(&server->bad_steps, job->key, shard_of(server, &job->bad), &job->error);
    if (news)
        log_write(server->log, LOG_LEVEL_ERROR, "gathering failed",
                  (struct log_field[]){ log_text("error", job->error.text), log_end() });
}

static void collect_payloads(struct server *server)
{
    struct gather_job *job;
    while ((job = gather_take(server->gather))) {
        /* What the ledger has overruled meanwhile is nobody's: the cache has forgotten it. */
        if (lineage_overrules(server->lineage, job->plan->job, job->key.step)) {
            gather_job_free(job);
            continue;
        }
        if (job->payload) {
            payload_cache_fill(&server->cache, job->key, job->payload);
            bad_steps_clear(&server->bad_steps, job->key);
            if (bad_shards_may_drop(server))
                order_done(server, job->plan, job->key);
        } else {
            payload_cache_cancel(&server->cache, job->key);
            note_failure(server, job);
        }
        requests_on_payload(server, job);
        gather_job_free(job);
    }
}

static void on_room_timer(uv_timer_t *timer)
{
    struct server *server = timer->data;
    requests_on_room(server);
    if (server->stalled_left)
        uv_timer_start(&server->room_timer, on_room_timer, 0, 0);
}

static void on_wake(uv_async_t *handle)
{
    struct server *server = handle->data;
    if (server->phase == SERVER_STOPPED)
        return;
    collect_plans(server);
    collect_payloads(server);
    operators_on_report(server);
    operators_on_snapshot(server);
    operators_on_change(server);
    server->stalled_left = server->stalled_count;
    on_room_timer(&server->room_timer);
    bad_shards_drop(server);
    gather_ahead_of_demand(server);
    check_drained(server);
}

/* ---- timers ---- */

/*
 * The front moves ahead with every answer; here it falls back when the job has gone back, that is
 * when every rank heard of lately was sent earlier steps.
 */
static void move_front(struct server *server)
{
    uint64_t step;
    if (!sessions_front(&server->sessions, server_now_ms(server), FRONT_RECENT_MS, &step) ||
        step == server->front)
        return;
    server->front = step;
    plan_store_front(server->plans, step);
}

static void tell_far_step(struct server *server)
{
    struct plan_store_facts facts;
    plan_store_facts(server->plans, &facts);
    uint64_t now_ms = server_now_ms(server);
    if (facts.idle || facts.target < facts.at || facts.target - facts.at < FAR_STEPS ||
        now_ms < server->far_told_ms + FAR_TOLD_MS)
        return;
    server->far_told_ms = now_ms;
    log_write(server->log, LOG_LEVEL_INFO, "planning towards a far step",
              (struct log_field[]){ log_uint("at", facts.at), log_uint("target", facts.target),
                                    log_end() });
}

/* One line for all that were refused since the last: nobody can fill the log by being refused. */
static void tell_denied(struct server *server)
{
    uint64_t denied = access_news(&server->access);
    if (denied)
        log_write(server->log, LOG_LEVEL_WARNING, "clients refused",
                  (struct log_field[]){ log_uint("count", denied),
                                        log_text("latest", server->access.latest), log_end() });
}

static void on_housekeeping(uv_timer_t *timer)
{
    struct server *server = timer->data;
    uint64_t consumed;
    server->sessions.keep_ranks =
        bad_shards_may_drop(server) && bad_steps_count(&server->bad_steps) > 0;
    sessions_expire(&server->sessions, server_now_ms(server));
    move_front(server);
    tell_far_step(server);
    tell_denied(server);
    if (sessions_consumed(&server->sessions, &consumed))
        payload_cache_forget(&server->cache, consumed + (consumed < UINT64_MAX));
    gather_ahead_of_demand(server);
}

/* The loop runs, or this were not called; the planner rests, or has done a slice since. */
static void on_watchdog(uv_timer_t *timer)
{
    struct server *server = timer->data;
    struct plan_store_facts facts;
    plan_store_facts(server->plans, &facts);
    if (facts.idle || facts.slices != server->slices_seen)
        notify_alive();
    server->slices_seen = facts.slices;
}

/* ---- opening ---- */

static void init_handles(struct server *server)
{
    uv_loop_t *loop = &server->loop;
    uv_timer_init(loop, &server->deadline_timer);
    uv_timer_init(loop, &server->housekeeping_timer);
    uv_timer_init(loop, &server->drain_timer);
    uv_timer_init(loop, &server->watchdog_timer);
    uv_timer_init(loop, &server->room_timer);
    uv_signal_init(loop, &server->on_terminate);
    uv_signal_init(loop, &server->on_interrupt);
    uv_signal_init(loop, &server->on_hangup);
    server->wake.data = server->deadline_timer.data = server->housekeeping_timer.data =
        server->drain_timer.data = server->watchdog_timer.data = server->room_timer.data =
            server->on_terminate.data = server->on_interrupt.data = server->on_hangup.data = server;
}

int events_open(struct server *server, struct error *err)
{
    int failed = uv_async_init(&server->loop, &server->wake, on_wake);
    if (failed)
        return error_set(err, EX_OSERR, "cannot make the loop's wake-up: %s", uv_strerror(failed));
    init_handles(server);
    uv_timer_start(&server->housekeeping_timer, on_housekeeping, HOUSEKEEPING_MS, HOUSEKEEPING_MS);
    uint64_t watchdog_ms = notify_watchdog_ms() / 2;
    if (watchdog_ms)
        uv_timer_start(&server->watchdog_timer, on_watchdog, 0, watchdog_ms);
    failed = uv_signal_start(&server->on_terminate, on_stop_signal, SIGTERM);
    failed = failed ? failed : uv_signal_start(&server->on_interrupt, on_stop_signal, SIGINT);
    failed = failed ? failed : uv_signal_start(&server->on_hangup, on_hangup_signal, SIGHUP);
    if (failed)
        return error_set(err, EX_OSERR, "cannot watch signals: %s", uv_strerror(failed));
    return 0;
}
