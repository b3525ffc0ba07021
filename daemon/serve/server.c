#include "serve/server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "serve/events.h"
#include "serve/request.h"
#include "serve/search.h"
#include "serve/state.h"

/* ZeroMQ's I/O threads: one moves some 3 GB/s, and more only help where cores are left for them. */
#define CORES_AN_IO_THREAD 4
#define MOST_IO_THREADS 4
/* Plans are some hundredths of the payloads they describe: those of the whole cache are kept. */
#define PLANS_SHARE_OF_CACHE 16
#define MOST_STEPS_WANTED 1024
#define OPERATOR_MESSAGE_BYTES 4096
#define OPERATOR_QUEUED_MESSAGES 64

/* An admin socket of the file system stays with its file's mode. */
static void demand_curve(struct server *server)
{
    if (!server->access.secured)
        return;
    server->trainers.curve_secret_key = server->access.secret_key;
    if (strncmp(server->operators.address, "ipc://", strlen("ipc://")) != 0)
        server->operators.curve_secret_key = server->access.secret_key;
}

int server_new(const struct config *config, struct log *log, struct server **ret_server,
               struct error *err)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return error_memory(err, "starting the server");
    server->config = config;
    server->log = log;
    server->changing_from = UINT64_MAX;
    list_init(&server->stalled);
    list_init(&server->questions);
    list_init(&server->searches);
    int failed = endpoint_lock(config->serve.endpoint, &server->trainers, err);
    if (!failed)
        failed = endpoint_lock(config->serve.admin, &server->operators, err);
    if (!failed)
        failed = access_open(&config->access, &server->access, err);
    if (failed) {
        server_free(server);
        return failed;
    }
    demand_curve(server);
    *ret_server = server;
    return 0;
}

void server_accept_corpus_change(struct server *server, uint64_t step)
{
    server->accepts = true;
    server->accept_step = step;
}

void server_free(struct server *server)
{
    if (!server)
        return;
    endpoint_close(&server->trainers, 0);
    endpoint_close(&server->operators, 0);
    access_close(&server->access);
    free(server);
}

/* ---- opening ---- */

/*
 * What payloads may take where nobody has said: bytes on the way come on top, up to twice as many,
 * and to be killed for memory is no way to hear that steps_ahead is too large.
 */
static uint64_t machine_share(void)
{
    uint64_t all = uv_get_total_memory(), granted = uv_get_constrained_memory();
    return (granted && granted < all ? granted : all) / 4;
}

/* Room for the steps ahead, the one at hand and the one before; chunks carry a token more each. */
static size_t cache_limit(const struct server *server, uint32_t sequence, uint32_t microbatches)
{
    const struct serve_options *options = &server->config->serve;
    uint64_t microbatch = (uint64_t)sequence * server->corpus->token_bytes;
    microbatch += microbatch / 8 + 4096;
    uint64_t limit = options->cache_bytes;
    if (limit == 0) {
        limit = ((uint64_t)options->steps_ahead + 2) * microbatches * microbatch;
        limit = limit < server->machine_share ? limit : server->machine_share;
    }
    return (size_t)(limit < microbatch ? microbatch : limit);
}

void server_follow(struct server *server, struct lineage *lineage)
{
    uint32_t sequence, microbatches;
    server->lineage = lineage;
    lineage_extremes(lineage, &sequence, &microbatches);
    server->cache.limit_bytes = cache_limit(server, sequence, microbatches);
}

static int open_parts(struct server *server, struct error *err)
{
    const struct config *config = server->config;
    const struct serve_options *options = &config->serve;
    server->flights.wake = &server->wake;
    server->machine_share = machine_share();
    int failed = sessions_init(&server->sessions, options->max_clients,
                               config->access.max_clients_per_key, &server->flights, err);
    if (!failed)
        failed = hash_table_init(&server->waiting, SERVER_MOST_WAITING / 4, err);
    if (!failed)
        failed = payload_cache_init(
            &server->cache,
            cache_limit(server, config->max_sequence_length, config_step_microbatches(config)),
            err);
    if (!failed)
        failed =
            plan_store_new(options->steps_ahead, server->cache.limit_bytes / PLANS_SHARE_OF_CACHE,
                           MOST_STEPS_WANTED, &server->plans, err);
    return failed;
}

#define TRIALS_TOLD 5u

static void tell_trial(struct server *server, const char *what, const struct threshold_trial *trial)
{
    char text[128];
    threshold_trial_text(trial, server->config->context_window, text, sizeof text);
    log_write(server->log, LOG_LEVEL_INFO, what,
              (struct log_field[]){ log_text("outlier_thresholds", text),
                                    log_real("makespan_ratio", 1 + (double)trial->excess / 1e6),
                                    log_real("delay", (double)trial->delay / 1e6),
                                    log_real("score", (double)trial->score / 1e6), log_end() });
}

/* Which thresholds `auto` came to, and what was nearly as good. */
static void tell_thresholds(void *context, const struct planner *planner)
{
    struct server *server = context;
    const struct auto_thresholds *choice = planner_auto_thresholds(planner);
    if (!choice)
        return;
    log_write(server->log, LOG_LEVEL_INFO, "outlier thresholds tried",
              (struct log_field[]){ log_uint("candidates", choice->trial_count),
                                    log_uint("steps", choice->steps),
                                    log_uint("pieces", choice->pieces), log_end() });
    tell_trial(server, "outlier thresholds chosen", &choice->trials[0]);
    for (size_t i = 1; i < choice->trial_count && i < TRIALS_TOLD; i++)
        tell_trial(server, "outlier thresholds not chosen", &choice->trials[i]);
}

static int open_threads(struct server *server, struct error *err)
{
    int failed = gather_new(server->corpus, server->config->serve.gather_threads, events_wake,
                            server, &server->gather, err);
    if (failed)
        return failed;
    if (server->config->state.directory)
        failed = snapshots_new(&server->config->state, server->log, events_wake, server,
                               &server->snapshots, err);
    struct planner_links links = { .store = server->plans,
                                   .snapshots = server->snapshots,
                                   .accept = server->accepts ? &server->accept_step : NULL,
                                   .notify = events_wake,
                                   .opened = tell_thresholds,
                                   .context = server };
    if (!failed)
        failed = planner_thread_start(server->config, server->corpus, &links, &server->planner,
                                      &server->lineage, err);
    if (!failed) {
        server_follow(server, server->lineage);
        server->front = history_first_step(server->lineage->history);
    }
    return failed;
}

static int io_threads(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN), threads = cores / CORES_AN_IO_THREAD;
    return threads < 1 ? 1 : threads > MOST_IO_THREADS ? MOST_IO_THREADS : (int)threads;
}

static int open_context(struct server *server, struct error *err)
{
    server->zmq = zmq_ctx_new();
    if (!server->zmq)
        return error_set(err, EX_OSERR, "cannot make a ZeroMQ context: %s",
                         zmq_strerror(zmq_errno()));
    zmq_ctx_set(server->zmq, ZMQ_IO_THREADS, io_threads());
    return 0;
}

static int watch_handshakes(struct server *server, const struct endpoint *endpoint,
                            struct handshakes *handshakes, const char *name, struct error *err)
{
    if (!endpoint->curve_secret_key)
        return 0;
    return handshakes_open(handshakes, server->zmq, endpoint->socket, name, &server->loop,
                           &server->access, err);
}

/* The handler of keys is there before the first socket that needs it. */
static int open_sockets(struct server *server, struct error *err)
{
    struct endpoint_limits trainers = { server->config->serve.max_message_bytes,
                                        SERVER_QUEUED_MESSAGES };
    struct endpoint_limits operators = { OPERATOR_MESSAGE_BYTES, OPERATOR_QUEUED_MESSAGES };
    int failed = 0;
    if (server->access.secured)
        failed = zap_open(&server->zap, server->zmq, &server->loop, &server->access, err);
    if (!failed)
        failed = endpoint_bind(&server->trainers, server->zmq, &trainers, err);
    if (!failed)
        failed = endpoint_bind(&server->operators, server->zmq, &operators, err);
    if (!failed)
        failed = watch_handshakes(server, &server->trainers, &server->trainer_handshakes,
                                  "trainers", err);
    if (!failed)
        failed = watch_handshakes(server, &server->operators, &server->operator_handshakes,
                                  "operators", err);
    if (!failed)
        failed = zmq_loop_open(&server->trainer_events, &server->loop, server->trainers.socket,
                               trainers_ready, server, err);
    if (!failed)
        failed = zmq_loop_open(&server->operator_events, &server->loop, server->operators.socket,
                               operators_ready, server, err);
    return failed;
}

static int open_all(struct server *server, struct error *err)
{
    int failed = open_parts(server, err);
    if (!failed)
        failed = events_open(server, err);
    if (!failed)
        failed = open_context(server, err);
    if (!failed)
        failed = open_sockets(server, err);
    if (!failed)
        failed = open_threads(server, err);
    return failed;
}

/* ---- closing, in the order that server.h gives ---- */

static void close_sockets(struct server *server, int linger_ms)
{
    if (server->trainer_events.open_handles)
        zmq_loop_close(&server->trainer_events, NULL);
    if (server->operator_events.open_handles)
        zmq_loop_close(&server->operator_events, NULL);
    handshakes_stop(&server->trainer_handshakes);
    handshakes_stop(&server->operator_handshakes);
    zap_stop(&server->zap);
    uv_run(&server->loop, UV_RUN_NOWAIT);
    handshakes_close(&server->trainer_handshakes);
    handshakes_close(&server->operator_handshakes);
    endpoint_close(&server->trainers, linger_ms);
    endpoint_close(&server->operators, linger_ms);
    zap_close(&server->zap);
}

static void close_threads(struct server *server)
{
    if (server->plans)
        plan_store_stop(server->plans);
    struct lineage *lineage = planner_thread_join(server->planner);
    snapshots_free(server->snapshots);
    gather_free(server->gather);
    lineage_free(lineage);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_loop(struct server *server)
{
    uv_walk(&server->loop, close_handle, NULL);
    uv_run(&server->loop, UV_RUN_DEFAULT);
    uv_loop_close(&server->loop);
}

static void close_parts(struct server *server)
{
    payload_cache_fini(&server->cache);
    whole_steps_fini(&server->whole);
    plan_store_free(server->plans);
    sessions_fini(&server->sessions);
    hash_table_fini(&server->waiting);
    deadlines_fini(&server->deadlines);
}

static void close_all(struct server *server, int linger_ms)
{
    server->phase = SERVER_STOPPED;
    close_sockets(server, linger_ms);
    searches_await(server);
    close_threads(server);
    if (server->zmq)
        zmq_ctx_term(server->zmq); /* waits for what was sent, up to the linger time */
    close_loop(server);
    close_parts(server);
}

int server_run(struct server *server, const struct corpus *corpus, struct error *err)
{
    int failed = uv_loop_init(&server->loop);
    if (failed)
        return error_set(err, EX_OSERR, "cannot make an event loop: %s", uv_strerror(failed));
    server->corpus = corpus;
    server->started_ms = server_now_ms(server);
    failed = open_all(server, err);
    if (!failed)
        uv_run(&server->loop, UV_RUN_DEFAULT);
    close_all(server, failed ? 0 : ENDPOINT_LINGER_MS);
    if (!failed && server->fatal.code) {
        *err = server->fatal;
        failed = server->fatal.code;
    }
    return failed;
}
