#include "serve/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/reply.h"
#include "state/job_open.h"
#include "state/where_start.h"
#include "wire/limits.h"

#define NS_A_MS 1000000u

struct search {
    uv_work_t work;
    struct list link; /* server.searches */
    struct server *server;
    struct peer_id peer;
    const struct history *history; /* of now: it outlives the server's loop */
    uint64_t last_step;            /* to look at */
    char source[WIRE_MAX_TEXT_BYTES + 1];
    uint64_t document, epoch;
    atomic_bool cancelled;

    /* Of the thread. */
    struct planner *planner;
    struct where where;
    struct step_plan plan;
    char *json;
    struct error error;
};

/* ---- on a thread of the pool ---- */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / NS_A_MS;
}

static int start(struct search *search)
{
    const struct corpus *corpus = search->server->corpus;
    const char *path = search->server->config->state.directory;
    struct state_directory directory = STATE_DIRECTORY_CLOSED(path);
    struct planner *planner = search->planner;
    int failed = where_begin(&search->where, planner, corpus, search->source, search->document,
                             search->epoch, &search->error);
    if (failed)
        return failed;
    if (path)
        state_directory_open_existing(&directory, NULL);
    failed = where_start(&search->where, planner, corpus, &directory, &search->error);
    state_directory_close(&directory);
    return failed;
}

static int look(struct search *search)
{
    struct planner *planner = search->planner;
    uint64_t stop_ms = now_ms() + SEARCH_MS;
    while (planner_next_step(planner) <= search->last_step && now_ms() < stop_ms &&
           !atomic_load(&search->cancelled)) {
        enum where_result result =
            where_step(&search->where, planner, &search->plan, &search->error);
        if (result == WHERE_DONE)
            return 0;
        if (result == WHERE_ERROR)
            return search->error.code;
    }
    return where_stop(&search->where, planner, &search->error);
}

static void run(uv_work_t *work)
{
    struct search *search = work->data;
    const struct corpus *corpus = search->server->corpus;
    int failed = job_planner(search->history, corpus, &search->planner, &search->error);
    if (!failed)
        failed = start(search);
    if (!failed)
        failed = look(search);
    if (!failed)
        where_json(&search->where, search->planner, corpus, &search->json, &search->error);
    where_fini(&search->where);
    step_plan_fini(&search->plan);
    planner_free(search->planner);
}

/* ---- on the loop ---- */

static void answer(struct search *search)
{
    struct server *server = search->server;
    enum wire_status status =
        search->error.code == EX_USAGE ? WIRE_BAD_REQUEST : reply_status(search->error.code);
    if (search->json)
        reply_admin(server, &search->peer, WIRE_OK, NULL, search->json);
    else
        reply_admin(server, &search->peer, status, search->error.text, NULL);
}

static void on_done(uv_work_t *work, int cancelled)
{
    struct search *search = work->data;
    if (!cancelled && !atomic_load(&search->cancelled))
        answer(search);
    list_remove(&search->link);
    search->server->search_count--;
    free(search->json);
    free(search);
}

static bool read_number(const char *text, uint64_t *ret_number)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return false;
    *ret_number = number;
    return true;
}

static bool read_arguments(struct search *search, const Ballast__V1__Admin *admin)
{
    if (admin->n_arguments != 3)
        return false;
    snprintf(search->source, sizeof search->source, "%s", admin->arguments[0]);
    return read_number(admin->arguments[1], &search->document) &&
           read_number(admin->arguments[2], &search->epoch);
}

/* Further than has been planned nobody has asked yet. */
static uint64_t planned_up_to(const struct server *server)
{
    struct plan_store_facts facts;
    plan_store_facts(server->plans, &facts);
    return facts.planned ? facts.planned - 1 : 0;
}

void search_begin(struct server *server, const struct peer_id *peer,
                  const Ballast__V1__Admin *admin)
{
    struct search *search = server->search_count < SEARCH_MOST ? calloc(1, sizeof *search) : NULL;
    if (!search) {
        reply_admin(server, peer, WIRE_BUSY, "too many searches are under way, ask again", NULL);
        return;
    }
    search->server = server;
    search->peer = *peer;
    search->history = server->lineage->history;
    search->last_step = planned_up_to(server);
    search->work.data = search;
    if (!read_arguments(search, admin) ||
        uv_queue_work(&server->loop, &search->work, run, on_done) != 0) {
        free(search);
        reply_admin(server, peer, WIRE_BAD_REQUEST,
                    "where takes a source, a document and an epoch, counted from 0", NULL);
        return;
    }
    list_push_back(&server->searches, &search->link);
    server->search_count++;
}

void searches_cancel(struct server *server)
{
    struct list *at = server->searches.next;
    while (at != &server->searches) {
        struct search *search = list_entry(at, struct search, link);
        at = at->next;
        if (!atomic_exchange(&search->cancelled, true))
            reply_admin(server, &search->peer, WIRE_DRAINING, NULL, NULL);
    }
}

void searches_await(struct server *server)
{
    while (server->search_count)
        uv_run(&server->loop, UV_RUN_ONCE);
}
