#include "plan/epoch.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "pack/pieces.h"
#include "plan/assemble.h"
#include "plan/foresight.h"
#include "plan/job_text.h"

/* Part of the job digest: raise it when the same inputs begin to give other plans. */
#define PLAN_GENERATION "ballast plan 1"

struct epoch {
    const struct config *config;
    const struct corpus *corpus;
    struct pack_shape shape;
    struct stream *stream;
    struct foresight foresight;          /* open when the policy asks for it */
    struct pack_options packing_options; /* the configuration's, `auto` being decided */
    struct auto_thresholds *thresholds;  /* NULL: given */
    const struct pack_policy *policy;
    void *packer;

    struct pieces backlog; /* taken over from the epoch before: comes before the stream */
    uint64_t next_step;
    struct digest job, digest; /* of the job; of step next_step - 1 */
    char *job_text;
    bool ended;    /* the stream is at its end: packing drains */
    bool finished; /* so is the packing */
    uint64_t dropped_pieces, dropped_tokens;

    planner_watcher *watcher;
    void *watcher_context;

    struct packing packing; /* working memory */
    struct cp_shards shards;
    struct waiting_piece *waiting;
    size_t waiting_capacity;
};

/* Thresholds that were chosen stand in the digest as if they had been given. */
static int job_digest(struct epoch *epoch, const struct corpus *corpus, struct error *err)
{
    struct config config = *epoch->config;
    config.packing = epoch->packing_options;
    char *text;
    int status = config_plan_text(&config, &text, err);
    if (status)
        return status;
    struct digest digest =
        digest_chain((struct digest){ 0 }, PLAN_GENERATION, sizeof PLAN_GENERATION - 1);
    digest = digest_chain(digest, text, strlen(text));
    epoch->job = digest_chain(digest, corpus->fingerprint.bytes, DIGEST_BYTES);
    status = job_text_new(PLAN_GENERATION, text, corpus, &epoch->job_text, err);
    free(text);
    return status;
}

static int init_shape(struct epoch *epoch, struct error *err)
{
    const struct config *config = epoch->config;
    epoch->shape = (struct pack_shape){ .microbatches = config_step_microbatches(config),
                                        .window = config->context_window,
                                        .max_tokens = config->max_sequence_length,
                                        .replicas = config->parallel.dp,
                                        .stages = config->parallel.pp };
    int status = cost_model_init(&epoch->shape.cost, &config->cost, err);
    if (status)
        return status;
    if (!cost_fits(&epoch->shape.cost, config->context_window, config->max_sequence_length))
        return error_set(err, EX_CONFIG,
                         "cost: the workload of a micro-batch of %u tokens overflows 63 bits: "
                         "check the cost figures, or use a smaller context_window",
                         config->max_sequence_length);
    return 0;
}

static int open_packer(struct epoch *epoch, struct error *err)
{
    const struct pack_options *options = &epoch->packing_options;
    epoch->policy = pack_policy_find(options->policy);
    if (!epoch->policy)
        return error_set(err, EX_CONFIG, "packing.policy: there is no policy %s", options->policy);
    return epoch->policy->open(&epoch->shape, options, &epoch->packer, err);
}

static int decide_thresholds(struct epoch *epoch, const struct corpus *corpus,
                             const struct stream_options *stream, struct error *err)
{
    struct pack_options *options = &epoch->packing_options;
    *options = epoch->config->packing;
    if (!options->auto_thresholds || strcmp(options->policy, "wlb") != 0)
        return 0;
    int status =
        auto_thresholds_choose(corpus, stream, &epoch->shape, options, &epoch->thresholds, err);
    if (status)
        return status;
    options->outlier_thresholds = epoch->thresholds->trials[0].thresholds;
    options->outlier_threshold_count = epoch->thresholds->trials[0].count;
    return 0;
}

/* What was planned from an index that has changed is no plan. */
static int check_corpus(const struct epoch *epoch, struct error *err)
{
    int status = corpus_check(epoch->corpus, err);
    if (status)
        return status;
    const struct source *changed = epoch->stream ? stream_changed(epoch->stream) : NULL;
    if (!changed && epoch->foresight.scout)
        changed = stream_changed(epoch->foresight.scout);
    if (!changed)
        return 0;
    return error_set(err, EX_IOERR,
                     "source %s: an index of its shards has been overwritten since it was opened: "
                     "put the shard back and start again; replace shards by rename, never in place",
                     changed->name);
}

/* The streams of an epoch and what hangs on them; `weights` has room for every source. */
static int init(struct epoch *epoch, const struct corpus *corpus, uint64_t *weights,
                struct error *err)
{
    const struct config *config = epoch->config;
    struct stream_options options = { .seed = config->seed,
                                      .context_window = config->context_window,
                                      .long_documents = config->long_documents,
                                      .weights = weights };
    for (unsigned i = 0; i < config->source_count; i++)
        weights[i] = source_integer_weight(config->sources[i].weight);
    int status = init_shape(epoch, err);
    if (status == 0)
        status = decide_thresholds(epoch, corpus, &options, err);
    if (status == 0)
        status = job_digest(epoch, corpus, err);
    if (status == 0)
        status = stream_new(corpus, &options, &epoch->stream, err);
    if (status == 0)
        status = open_packer(epoch, err);
    if (status == 0 && epoch->policy->foresight)
        status = foresight_open(&epoch->foresight, corpus, &options, err);
    if (status == 0 || status == EX_DATAERR) {
        int changed = check_corpus(epoch, err); /* the better reason, where there are two */
        status = changed ? changed : status;
    }
    epoch->digest = epoch->job;
    return status;
}

int epoch_new(const struct config *config, const struct corpus *corpus, struct epoch **ret_epoch,
              struct error *err)
{
    struct epoch *epoch = calloc(1, sizeof *epoch);
    if (!epoch)
        return error_memory(err, "opening the planner");
    epoch->config = config;
    epoch->corpus = corpus;
    uint64_t *weights = calloc(config->source_count + (size_t)1, sizeof *weights);
    int status =
        weights ? init(epoch, corpus, weights, err) : error_memory(err, "opening the planner");
    free(weights);
    if (status) {
        epoch_free(epoch);
        return status;
    }
    *ret_epoch = epoch;
    return 0;
}

void epoch_free(struct epoch *epoch)
{
    if (!epoch)
        return;
    if (epoch->packer)
        epoch->policy->close(epoch->packer);
    auto_thresholds_free(epoch->thresholds);
    stream_free(epoch->stream);
    foresight_close(&epoch->foresight);
    pieces_fini(&epoch->backlog);
    packing_fini(&epoch->packing);
    cp_shards_fini(&epoch->shards);
    free(epoch->waiting);
    free(epoch->job_text);
    free(epoch);
}

/* The next piece, of the backlog or else of the stream; false at the end of both. */
static bool next_piece(struct epoch *epoch, struct piece *ret_piece)
{
    if (epoch->backlog.count) {
        *ret_piece = *pieces_first(&epoch->backlog);
        pieces_drop_first(&epoch->backlog, 1);
        return true;
    }
    if (epoch->ended || !stream_next(epoch->stream, ret_piece)) {
        epoch->ended = true;
        return false;
    }
    if (epoch->foresight.scout)
        foresight_pass(&epoch->foresight);
    ret_piece->arrived = epoch->next_step;
    return true;
}

/* Feeds the packer until it has what it wants, or the data end. */
static int take_in(struct epoch *epoch, struct error *err)
{
    struct piece piece;
    while (epoch->policy->wants(epoch->packer) && next_piece(epoch, &piece)) {
        int status = epoch->policy->offer(epoch->packer, &piece, err);
        if (status)
            return status;
    }
    return 0;
}

void epoch_watch(struct epoch *epoch, planner_watcher *watcher, void *context)
{
    epoch->watcher = watcher;
    epoch->watcher_context = context;
}

/* Tells the packer the lengths that follow, where it wants to know them. */
static int tell_ahead(struct epoch *epoch, struct error *err)
{
    if (!epoch->foresight.scout)
        return 0;
    const struct pack_policy *policy = epoch->policy;
    int status = foresight_reach(&epoch->foresight, policy->foresight(epoch->packer), err);
    if (status)
        return status;
    return policy->foresee(epoch->packer, epoch->next_step, foresight_lengths(&epoch->foresight),
                           epoch->foresight.count, err);
}

static int pack_step(struct epoch *epoch, struct error *err)
{
    if (epoch->watcher)
        epoch->watcher(epoch->watcher_context, true);
    int status = tell_ahead(epoch, err);
    if (status == 0)
        status = epoch->policy->pack(epoch->packer, epoch->ended && epoch->backlog.count == 0,
                                     &epoch->packing, err);
    if (epoch->watcher)
        epoch->watcher(epoch->watcher_context, false);
    return status;
}

static size_t count_waiting(const struct epoch *epoch)
{
    return epoch->policy->waiting(epoch->packer, NULL, 0) + epoch->backlog.count;
}

/* What the packer holds back, then the backlog: `count` of them, as count_waiting says. */
static void copy_waiting(const struct epoch *epoch, struct waiting_piece *waiting, size_t count)
{
    size_t held = epoch->policy->waiting(epoch->packer, waiting, count - epoch->backlog.count);
    for (size_t i = held; i < count; i++)
        waiting[i] = (struct waiting_piece){ .piece = pieces_first(&epoch->backlog)[i - held],
                                             .place = PLANNER_BACKLOG };
}

/* Reads what waits into epoch->waiting. */
static int list_waiting(struct epoch *epoch, size_t *ret_count, struct error *err)
{
    size_t count = count_waiting(epoch);
    if (!grow(epoch->waiting, &epoch->waiting_capacity, count))
        return error_memory(err, "planning");
    copy_waiting(epoch, epoch->waiting, count);
    *ret_count = count;
    return 0;
}

static int sum_waiting(struct epoch *epoch, struct plan_waiting *ret_waiting, struct error *err)
{
    size_t count = 0;
    int status = list_waiting(epoch, &count, err);
    if (status)
        return status;
    struct plan_waiting sum = { .pieces = count, .oldest = epoch->next_step + 1 };
    for (size_t i = 0; i < count; i++) {
        const struct piece *piece = &epoch->waiting[i].piece;
        sum.tokens += piece->length;
        if (piece->arrived < sum.oldest)
            sum.oldest = piece->arrived;
    }
    *ret_waiting = sum;
    return 0;
}

/* Is this the last step, and short of a full global batch? */
static bool short_last_step(const struct epoch *epoch, const struct plan_waiting *waiting)
{
    uint64_t full = (uint64_t)epoch->shape.microbatches * epoch->shape.window;
    return epoch->ended && waiting->pieces == 0 && epoch->packing.tokens < full;
}

static enum planner_result finish(struct epoch *epoch)
{
    epoch->finished = true;
    epoch->dropped_pieces += epoch->packing.piece_count;
    epoch->dropped_tokens += epoch->packing.tokens;
    return PLANNER_END;
}

/* Fills epoch->packing; PLANNER_END where there is nothing more to serve. */
static enum planner_result pack_next(struct epoch *epoch, struct plan_waiting *ret_waiting,
                                     struct error *err)
{
    if (epoch->finished)
        return PLANNER_END;
    if (take_in(epoch, err) || pack_step(epoch, err) || check_corpus(epoch, err) ||
        sum_waiting(epoch, ret_waiting, err))
        return PLANNER_ERROR;
    if (short_last_step(epoch, ret_waiting) &&
        (epoch->packing.piece_count == 0 || epoch->config->last_step == LAST_STEP_DROP))
        return finish(epoch);
    return PLANNER_STEP;
}

enum planner_result epoch_step(struct epoch *epoch, struct step_plan *plan, struct error *err)
{
    struct plan_waiting waiting;
    enum planner_result result = pack_next(epoch, &waiting, err);
    if (result != PLANNER_STEP)
        return result;
    if (assemble_plan(epoch->next_step, &epoch->packing, epoch->shape.microbatches,
                      &epoch->config->sharding, epoch->digest, &epoch->shards, plan, err))
        return PLANNER_ERROR;
    plan->waiting = waiting;
    epoch->digest = plan->digest;
    epoch->next_step++;
    return PLANNER_STEP;
}

/* ---- what the ledger does ---- */

/* What copy_waiting gave goes back to packer and backlog. */
static int put_waiting(struct epoch *epoch, const struct waiting_piece *waiting, size_t count,
                       struct error *err)
{
    size_t held = 0;
    while (held < count && waiting[held].place != PLANNER_BACKLOG)
        held++;
    int status = epoch->policy->restore(epoch->packer, waiting, held, err);
    pieces_clear(&epoch->backlog);
    for (size_t i = held; i < count && !status; i++)
        status = pieces_push(&epoch->backlog, &waiting[i].piece, err);
    return status;
}

enum planner_result epoch_leave_out(struct epoch *epoch, struct error *err)
{
    struct plan_waiting waiting;
    enum planner_result result = pack_next(epoch, &waiting, err);
    if (result == PLANNER_STEP)
        epoch->next_step++;
    return result;
}

const struct packing *epoch_left_out(const struct epoch *epoch)
{
    return &epoch->packing;
}

void epoch_chain(struct epoch *epoch, const void *bytes, size_t count)
{
    epoch->digest = digest_chain(epoch->digest, bytes, count);
}

/* Nothing arrives after the step that it is served in: due dates only move away. */
int epoch_go_back(struct epoch *epoch, uint64_t step, struct error *err)
{
    size_t count = 0;
    int status = list_waiting(epoch, &count, err);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++)
        if (epoch->waiting[i].piece.arrived > step)
            epoch->waiting[i].piece.arrived = step;
    epoch->next_step = step;
    return put_waiting(epoch, epoch->waiting, count, err);
}

/* Where in the backlog a piece comes, and which it was before. */
struct seat {
    uint64_t arrived;
    size_t index;
};

static int compare_seats(const void *one, const void *other)
{
    const struct seat *a = one, *b = other;
    if (a->arrived != b->arrived)
        return a->arrived < b->arrived ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Adds a piece to the backlog, cut to the window: former windows may have been longer. */
static int queue_piece(struct epoch *epoch, struct piece piece, struct error *err)
{
    int status = 0;
    while (piece.length > epoch->shape.window && !status) {
        struct piece rest = piece_cut(&piece, epoch->shape.window);
        status = pieces_push(&epoch->backlog, &piece, err);
        piece = rest;
    }
    return status ? status : pieces_push(&epoch->backlog, &piece, err);
}

static int queue_waiting(struct epoch *epoch, const struct planner_state *state, struct error *err)
{
    size_t count = state->waiting_count;
    struct seat *seats = calloc(count + 1, sizeof *seats);
    if (!seats)
        return error_memory(err, "taking over what waits");
    for (size_t i = 0; i < count; i++)
        seats[i] = (struct seat){ state->waiting[i].piece.arrived, i };
    qsort(seats, count, sizeof *seats, compare_seats);
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = queue_piece(epoch, state->waiting[seats[i].index].piece, err);
    free(seats);
    return status;
}

static bool same_weights(const struct config *a, const struct config *b)
{
    for (unsigned i = 0; i < a->source_count; i++)
        if (source_integer_weight(a->sources[i].weight) !=
            source_integer_weight(b->sources[i].weight))
            return false;
    return true;
}

int epoch_take_over(struct epoch *epoch, struct planner_state *state, const struct config *former,
                    struct error *err)
{
    size_t waiting = state->waiting_count;
    if (!same_weights(former, epoch->config))
        for (size_t i = 0; i < state->cursor_count; i++)
            state->cursors[i].blended = 0;
    state->waiting_count = 0;
    int status = epoch_restore(epoch, state, err);
    state->waiting_count = waiting;
    return status ? status : queue_waiting(epoch, state, err);
}

bool epoch_finished(const struct epoch *epoch)
{
    return epoch->finished;
}

const struct piece *epoch_backlog(const struct epoch *epoch, size_t *ret_count)
{
    *ret_count = epoch->backlog.count;
    return pieces_first(&epoch->backlog);
}

uint64_t epoch_next_step(const struct epoch *epoch)
{
    return epoch->next_step;
}

const struct auto_thresholds *epoch_auto_thresholds(const struct epoch *epoch)
{
    return epoch->thresholds;
}

struct digest epoch_job_digest(const struct epoch *epoch)
{
    return epoch->job;
}

const char *epoch_job_text(const struct epoch *epoch)
{
    return epoch->job_text;
}

const struct source_cursor *epoch_cursors(const struct epoch *epoch)
{
    return stream_cursors(epoch->stream);
}

uint64_t epoch_position(const struct epoch *epoch, size_t source, uint64_t source_epoch,
                        uint64_t document)
{
    return stream_position(epoch->stream, source, source_epoch, document);
}

const struct pack_policy *epoch_policy(const struct epoch *epoch, const void **ret_state)
{
    *ret_state = epoch->packer;
    return epoch->policy;
}

int epoch_save(const struct epoch *epoch, struct planner_state *state, struct error *err)
{
    size_t cursors = epoch->config->source_count;
    size_t waiting = count_waiting(epoch);
    if (!grow(state->cursors, &state->cursor_capacity, cursors) ||
        !grow(state->waiting, &state->waiting_capacity, waiting))
        return error_memory(err, "saving the planner's state");
    memcpy(state->cursors, stream_cursors(epoch->stream), cursors * sizeof *state->cursors);
    state->cursor_count = cursors;
    copy_waiting(epoch, state->waiting, waiting);
    state->waiting_count = waiting;
    state->next_step = epoch->next_step;
    state->digest = epoch->digest;
    state->ended = epoch->ended;
    state->finished = epoch->finished;
    state->dropped_pieces = epoch->dropped_pieces;
    state->dropped_tokens = epoch->dropped_tokens;
    return 0;
}

int epoch_restore(struct epoch *epoch, const struct planner_state *state, struct error *err)
{
    if (state->cursor_count != epoch->config->source_count)
        return error_set(err, EX_DATAERR,
                         "planner state: holds %zu sources, the configuration %u: the state "
                         "belongs to another configuration",
                         state->cursor_count, epoch->config->source_count);
    int status = put_waiting(epoch, state->waiting, state->waiting_count, err);
    if (status)
        return status;
    stream_seek(epoch->stream, state->cursors);
    if (epoch->foresight.scout)
        foresight_seek(&epoch->foresight, state->cursors);
    epoch->next_step = state->next_step;
    epoch->digest = state->digest;
    epoch->ended = state->ended;
    epoch->finished = state->finished;
    epoch->dropped_pieces = state->dropped_pieces;
    epoch->dropped_tokens = state->dropped_tokens;
    return 0;
}
