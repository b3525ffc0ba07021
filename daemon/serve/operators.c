/*
 * The operators' socket: commands of ballastctl. `status`, `ranks` and `drain` are answered at
 * once; `queues` and `sources` wait for a report of the planner, `step K` for the plan of that
 * step, `snapshot`, `reshape`, `skip` and `drop` for the disk, `where` for a search.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ballast/v1/ballast.pb-c.h"
#include "plan/plan_json.h"
#include "serve/ledger_commands.h"
#include "serve/operator_json.h"
#include "serve/receive.h"
#include "serve/reply.h"
#include "serve/search.h"
#include "serve/state.h"
#include "wire/frame.h"
#include "wire/limits.h"

#define QUESTION_MOST 64
#define QUESTION_WAIT_MS 10000

enum question_kind {
    QUESTION_QUEUES,
    QUESTION_SOURCES,
    QUESTION_STEP,
    QUESTION_SNAPSHOT,
    QUESTION_CHANGE
};

/* A command that waits for the planner. */
struct operator_question {
    struct list link; /* server.questions */
    struct deadline deadline;
    enum question_kind kind;
    uint64_t step; /* QUESTION_STEP: counted as wanted by the plan store */
    struct peer_id peer;
};

static void answer_text(struct server *server, const struct peer_id *peer, char *json)
{
    if (json)
        reply_admin(server, peer, WIRE_OK, NULL, json);
    else
        reply_admin(server, peer, WIRE_INTERNAL, "the daemon is out of memory", NULL);
    free(json);
}

static void end_question(struct server *server, struct operator_question *question)
{
    if (question->kind == QUESTION_STEP)
        plan_store_unwant(server->plans, question->step);
    list_remove(&question->link);
    server_remove_deadline(server, &question->deadline);
    server->question_count--;
    free(question);
}

static void refuse_question(struct server *server, struct operator_question *question,
                            enum wire_status status, const char *message)
{
    reply_admin(server, &question->peer, status, message, NULL);
    end_question(server, question);
}

static void on_deadline(void *context, struct deadline *deadline)
{
    refuse_question(context, list_entry(deadline, struct operator_question, deadline), WIRE_TIMEOUT,
                    "the planner has not got there yet, ask again");
}

/* NULL when there are too many, or no memory: answered then. */
static struct operator_question *add_question(struct server *server, const struct peer_id *peer,
                                              enum question_kind kind, uint64_t step)
{
    struct operator_question *question =
        server->question_count < QUESTION_MOST ? calloc(1, sizeof *question) : NULL;
    if (question)
        question->deadline.passed = on_deadline;
    if (!question || !server_add_deadline(server, &question->deadline,
                                          server_now_ms(server) + QUESTION_WAIT_MS)) {
        free(question);
        reply_admin(server, peer, WIRE_BUSY, "too many commands wait, ask again", NULL);
        return NULL;
    }
    question->kind = kind;
    question->step = step;
    question->peer = *peer;
    list_push_back(&server->questions, &question->link);
    server->question_count++;
    return question;
}

/* ---- commands ---- */

static void show_plan(struct server *server, const struct peer_id *peer,
                      const struct shared_plan *shared)
{
    char *json = NULL;
    struct error err = { 0 };
    if (step_plan_json(&shared->plan, shared->config, &json, &err))
        reply_admin(server, peer, WIRE_INTERNAL, err.text, NULL);
    else
        answer_text(server, peer, json);
}

static bool parse_step(const Ballast__V1__Admin *admin, uint64_t *ret_step)
{
    if (admin->n_arguments != 1)
        return false;
    const char *text = admin->arguments[0];
    char *end;
    errno = 0;
    unsigned long long step = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return false;
    *ret_step = step;
    return true;
}

static void command_step(struct server *server, const struct peer_id *peer,
                         const Ballast__V1__Admin *admin)
{
    uint64_t step;
    struct shared_plan *plan = NULL;
    if (!parse_step(admin, &step)) {
        reply_admin(server, peer, WIRE_BAD_REQUEST, "step takes one number, counted from 0", NULL);
        return;
    }
    if (step < history_first_step(server->lineage->history)) {
        reply_admin(server, peer, WIRE_BAD_REQUEST,
                    "that step lies before the change of the corpus: it cannot be planned", NULL);
        return;
    }
    switch (plan_store_get_or_want(server->plans, step, &plan)) {
    case PLAN_READY:
        show_plan(server, peer, plan);
        shared_plan_unref(plan);
        break;
    case PLAN_WANTED:
        if (!add_question(server, peer, QUESTION_STEP, step))
            plan_store_unwant(server->plans, step);
        break;
    case PLAN_AFTER_END:
        reply_admin(server, peer, WIRE_END, NULL, NULL);
        break;
    case PLAN_NO_MEMORY:
        reply_admin(server, peer, WIRE_BUSY, "the daemon is out of memory", NULL);
        break;
    }
}

static void command_report(struct server *server, const struct peer_id *peer,
                           enum question_kind kind)
{
    if (add_question(server, peer, kind, 0))
        plan_store_request_report(server->plans);
}

static void command_status(struct server *server, const struct peer_id *peer,
                           const Ballast__V1__Admin *admin)
{
    (void)admin;
    answer_text(server, peer, operator_json_status(server));
}

static void command_ranks(struct server *server, const struct peer_id *peer,
                          const Ballast__V1__Admin *admin)
{
    (void)admin;
    answer_text(server, peer, operator_json_ranks(server));
}

static void command_queues(struct server *server, const struct peer_id *peer,
                           const Ballast__V1__Admin *admin)
{
    (void)admin;
    command_report(server, peer, QUESTION_QUEUES);
}

static void command_sources(struct server *server, const struct peer_id *peer,
                            const Ballast__V1__Admin *admin)
{
    (void)admin;
    command_report(server, peer, QUESTION_SOURCES);
}

static void command_snapshot(struct server *server, const struct peer_id *peer,
                             const Ballast__V1__Admin *admin)
{
    (void)admin;
    if (!server->snapshots)
        reply_admin(server, peer, WIRE_BAD_REQUEST,
                    "this daemon keeps no snapshots: set state.directory in its configuration",
                    NULL);
    else if (add_question(server, peer, QUESTION_SNAPSHOT, 0))
        plan_store_request_snapshot(server->plans);
}

/* Files that could not be written are told apart from what cannot be. */
static enum wire_status change_status(int sysexit)
{
    if (sysexit == EX_USAGE || sysexit == EX_CONFIG || sysexit == EX_DATAERR)
        return WIRE_BAD_REQUEST;
    return sysexit == EX_OSERR ? WIRE_BUSY : WIRE_IO_ERROR;
}

static void command_change(struct server *server, const struct peer_id *peer,
                           const Ballast__V1__Admin *admin)
{
    struct ledger_entry entry = { .settings = NULL };
    struct error err = { 0 };
    char why[WIRE_MAX_MESSAGE_BYTES + 1];
    enum wire_status status = ledger_command_read(server, admin, &entry, why, sizeof why);
    if (status != WIRE_OK) {
        reply_admin(server, peer, status, why, NULL);
        return;
    }
    struct operator_question *question = add_question(server, peer, QUESTION_CHANGE, 0);
    if (question && ledger_command_begin(server, &entry, &err))
        refuse_question(server, question, change_status(err.code), err.text);
    ledger_entry_fini(&entry);
}

static void command_drain(struct server *server, const struct peer_id *peer,
                          const Ballast__V1__Admin *admin)
{
    (void)admin;
    reply_admin(server, peer, WIRE_OK, NULL, "{}");
    server_drain(server);
}

/* What is answered, and whose keys may ask it. */
static const struct {
    const char *name;
    unsigned roles;
    void (*run)(struct server *, const struct peer_id *, const Ballast__V1__Admin *);
} commands[] = {
    { "status", ROLE_OPERATOR, command_status },  { "queues", ROLE_OPERATOR, command_queues },
    { "ranks", ROLE_OPERATOR, command_ranks },    { "sources", ROLE_OPERATOR, command_sources },
    { "step", ROLE_OPERATOR, command_step },      { "snapshot", ROLE_OPERATOR, command_snapshot },
    { "reshape", ROLE_OPERATOR, command_change }, { "skip", ROLE_OPERATOR, command_change },
    { "drop", ROLE_OPERATOR, command_change },    { "where", ROLE_OPERATOR, search_begin },
    { "drain", ROLE_OPERATOR, command_drain },
};

static void run_command(struct server *server, const struct incoming *incoming,
                        const Ballast__V1__Admin *admin)
{
    const struct peer_id *peer = &incoming->peer;
    const char *user;
    size_t i = 0, count = sizeof commands / sizeof *commands;
    while (i < count && strcmp(commands[i].name, admin->command) != 0)
        i++;
    if (i == count)
        reply_admin(server, peer, WIRE_UNKNOWN_COMMAND,
                    "expected status, queues, ranks, sources, step, snapshot, reshape, skip, drop, "
                    "where or drain",
                    NULL);
    else if (!access_permits(&server->access, server->operators.curve_secret_key != NULL,
                             incoming_key(incoming), commands[i].roles, &user))
        reply_admin(server, peer, WIRE_DENIED, "that takes a key with the role operator", NULL);
    else
        commands[i].run(server, peer, admin);
}

static void handle(struct server *server, struct incoming *incoming)
{
    struct wire_message message = { 0 };
    const char *why = "a command is exactly one frame";
    enum wire_status status = WIRE_BAD_REQUEST;
    if (incoming->frames == 1)
        status = wire_decode(zmq_msg_data(&incoming->header), zmq_msg_size(&incoming->header),
                             WIRE_MAX_REQUEST_BYTES, &message, &why);
    if (status == WIRE_OK && message.type != WIRE_ADMIN) {
        status = WIRE_BAD_REQUEST;
        why = "this type of message is no command of an operator";
    }
    if (status == WIRE_OK)
        run_command(server, incoming, message.admin);
    else
        reply_refusal(server, server->operators.socket, &incoming->peer, status, why);
    wire_message_free(&message);
}

void operators_ready(struct zmq_loop *events)
{
    incoming_handle_all(events->socket, events->context, handle);
}

/* ---- events ---- */

void operators_on_plan(struct server *server, uint64_t step)
{
    struct list *at = server->questions.next;
    while (at != &server->questions) {
        struct operator_question *question = list_entry(at, struct operator_question, link);
        at = at->next;
        if (question->kind != QUESTION_STEP || question->step != step)
            continue;
        struct shared_plan *plan = plan_store_peek(server->plans, step);
        if (!plan)
            return;
        show_plan(server, &question->peer, plan);
        shared_plan_unref(plan);
        end_question(server, question);
    }
}

static void refuse_steps_from(struct server *server, uint64_t step, enum wire_status status,
                              const char *message)
{
    struct list *at = server->questions.next;
    while (at != &server->questions) {
        struct operator_question *question = list_entry(at, struct operator_question, link);
        at = at->next;
        if (question->kind == QUESTION_STEP && question->step >= step)
            refuse_question(server, question, status, message);
    }
}

void operators_on_end(struct server *server, uint64_t end)
{
    refuse_steps_from(server, end, WIRE_END, NULL);
}

void operators_on_failure(struct server *server, uint64_t step, const struct error *error)
{
    refuse_steps_from(server, step, reply_status(error->code), error->text);
}

static void show_report(struct server *server, struct operator_question *question,
                        const struct planner_report *report)
{
    answer_text(server, &question->peer,
                question->kind == QUESTION_QUEUES ? operator_json_queues(server, report)
                                                  : operator_json_sources(server, report));
    end_question(server, question);
}

void operators_on_report(struct server *server)
{
    struct planner_report *report = planner_thread_take_report(server->planner);
    if (!report)
        return;
    struct list *at = server->questions.next;
    while (at != &server->questions) {
        struct operator_question *question = list_entry(at, struct operator_question, link);
        at = at->next;
        if (question->kind == QUESTION_QUEUES || question->kind == QUESTION_SOURCES)
            show_report(server, question, report);
    }
    planner_report_free(report);
}

void operators_on_snapshot(struct server *server)
{
    struct snapshots_answer answer;
    if (!server->snapshots || !snapshots_take_answer(server->snapshots, &answer))
        return;
    struct list *at = server->questions.next;
    while (at != &server->questions) {
        struct operator_question *question = list_entry(at, struct operator_question, link);
        at = at->next;
        if (question->kind != QUESTION_SNAPSHOT)
            continue;
        if (answer.error.code)
            reply_admin(server, &question->peer, WIRE_IO_ERROR, answer.error.text, NULL);
        else
            answer_text(server, &question->peer, operator_json_snapshot(server, &answer));
        end_question(server, question);
    }
}

void operators_on_change(struct server *server)
{
    struct planner_change change;
    if (!planner_thread_take_change(server->planner, &change))
        return;
    ledger_command_end(server, &change);
    struct list *at = server->questions.next;
    while (at != &server->questions) {
        struct operator_question *question = list_entry(at, struct operator_question, link);
        at = at->next;
        if (question->kind != QUESTION_CHANGE)
            continue;
        if (change.error.code)
            reply_admin(server, &question->peer, change_status(change.error.code),
                        change.error.text, NULL);
        else
            answer_text(server, &question->peer, operator_json_change(&change));
        end_question(server, question);
    }
    ledger_entry_fini(&change.entry);
}

void operators_cancel(struct server *server)
{
    searches_cancel(server);
    while (!list_empty(&server->questions))
        refuse_question(server, list_entry(server->questions.next, struct operator_question, link),
                        WIRE_DRAINING, NULL);
}
