#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "plan/assemble.h"
#include "plan/foresight.h"
#include "plan/job_text.h"
#include "plan/plan.h"

/* Part of the job digest: raise it when the same inputs begin to give other plans. */
#define PLAN_GENERATION "ballast plan 1"

struct planner {
    const struct config *config;
    const struct corpus *corpus;
    struct pack_shape shape;
    struct stream *stream;
    struct foresight foresight;          /* open when the policy asks for it */
    struct pack_options packing_options; /* the configuration's, `auto` being decided */
    struct auto_thresholds *thresholds;  /* NULL: given */
    const struct pack_policy *policy;
    void *packer;

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
static int job_digest(struct planner *planner, const struct corpus *corpus, struct error *err)
{
    struct config config = *planner->config;
    config.packing = planner->packing_options;
    char *text;
    int status = config_plan_text(&config, &text, err);
    if (status)
        return status;
    struct digest digest =
        digest_chain((struct digest){ 0 }, PLAN_GENERATION, sizeof PLAN_GENERATION - 1);
    digest = digest_chain(digest, text, strlen(text));
    planner->job = digest_chain(digest, corpus->fingerprint.bytes, DIGEST_BYTES);
    status = job_text_new(PLAN_GENERATION, text, corpus, &planner->job_text, err);
    free(text);
    return status;
}

static int init_shape(struct planner *planner, struct error *err)
{
    const struct config *config = planner->config;
    planner->shape = (struct pack_shape){ .microbatches = config_step_microbatches(config),
                                          .window = config->context_window,
                                          .max_tokens = config->max_sequence_length,
                                          .replicas = config->parallel.dp,
                                          .stages = config->parallel.pp };
    int status = cost_model_init(&planner->shape.cost, &config->cost, err);
    if (status)
        return status;
    if (!cost_fits(&planner->shape.cost, config->context_window, config->max_sequence_length))
        return error_set(err, EX_CONFIG,
                         "cost: the workload of a micro-batch of %u tokens overflows 63 bits: "
                         "check the cost figures, or use a smaller context_window",
                         config->max_sequence_length);
    return 0;
}

static int open_packer(struct planner *planner, struct error *err)
{
    const struct pack_options *options = &planner->packing_options;
    planner->policy = pack_policy_find(options->policy);
    if (!planner->policy)
        return error_set(err, EX_CONFIG, "packing.policy: there is no policy %s", options->policy);
    return planner->policy->open(&planner->shape, options, &planner->packer, err);
}

static int decide_thresholds(struct planner *planner, const struct corpus *corpus,
                             const struct stream_options *stream, struct error *err)
{
    struct pack_options *options = &planner->packing_options;
    *options = planner->config->packing;
    if (!options->auto_thresholds || strcmp(options->policy, "wlb") != 0)
        return 0;
    int status =
        auto_thresholds_choose(corpus, stream, &planner->shape, options, &planner->thresholds, err);
    if (status)
        return status;
    options->outlier_thresholds = planner->thresholds->trials[0].thresholds;
    options->outlier_threshold_count = planner->thresholds->trials[0].count;
    return 0;
}

/* What was planned from an index that has changed is no plan. */
static int check_corpus(const struct planner *planner, struct error *err)
{
    int status = corpus_check(planner->corpus, err);
    if (status)
        return status;
    const struct source *changed = planner->stream ? stream_changed(planner->stream) : NULL;
    if (!changed && planner->foresight.scout)
        changed = stream_changed(planner->foresight.scout);
    if (!changed)
        return 0;
    return error_set(err, EX_IOERR,
                     "source %s: an index of its shards has been overwritten since it was opened: "
                     "put the shard back and start again; replace shards by rename, never in place",
                     changed->name);
}

static int init(struct planner *planner, const struct corpus *corpus, struct error *err)
{
    const struct config *config = planner->config;
    struct stream_options options = { .seed = config->seed,
                                      .context_window = config->context_window,
                                      .long_documents = config->long_documents };
    int status = init_shape(planner, err);
    if (status == 0)
        status = decide_thresholds(planner, corpus, &options, err);
    if (status == 0)
        status = job_digest(planner, corpus, err);
    if (status == 0)
        status = stream_new(corpus, &options, &planner->stream, err);
    if (status == 0)
        status = open_packer(planner, err);
    if (status == 0 && planner->policy->foresight)
        status = foresight_open(&planner->foresight, corpus, &options, err);
    if (status == 0 || status == EX_DATAERR) {
        int changed = check_corpus(planner, err); /* the better reason, where there are two */
        status = changed ? changed : status;
    }
    planner->digest = planner->job;
    return status;
}

int planner_new(const struct config *config, const struct corpus *corpus,
                struct planner **ret_planner, struct error *err)
{
    struct planner *planner = calloc(1, sizeof *planner);
    if (!planner)
        return error_memory(err, "opening the planner");
    planner->config = config;
    planner->corpus = corpus;
    int status = init(planner, corpus, err);
    if (status) {
        planner_free(planner);
        return status;
    }
    *ret_planner = planner;
    return 0;
}

void planner_free(struct planner *planner)
{
    if (!planner)
        return;
    if (planner->packer)
        planner->policy->close(planner->packer);
    auto_thresholds_free(planner->thresholds);
    stream_free(planner->stream);
    foresight_close(&planner->foresight);
    packing_fini(&planner->packing);
    cp_shards_fini(&planner->shards);
    free(planner->waiting);
    free(planner->job_text);
    free(planner);
}

/* Feeds the packer until it has what it wants, or the stream ends. */
static int take_in(struct planner *planner, struct error *err)
{
    struct piece piece;
    while (!planner->ended && planner->policy->wants(planner->packer)) {
        if (!stream_next(planner->stream, &piece)) {
            planner->ended = true;
            break;
        }
        if (planner->foresight.scout)
            foresight_pass(&planner->foresight);
        piece.arrived = planner->next_step;
        int status = planner->policy->offer(planner->packer, &piece, err);
        if (status)
            return status;
    }
    return 0;
}

void planner_watch(struct planner *planner, planner_watcher *watcher, void *context)
{
    planner->watcher = watcher;
    planner->watcher_context = context;
}

/* Tells the packer the lengths that follow, where it wants to know them. */
static int tell_ahead(struct planner *planner, struct error *err)
{
    if (!planner->foresight.scout)
        return 0;
    const struct pack_policy *policy = planner->policy;
    int status = foresight_reach(&planner->foresight, policy->foresight(planner->packer), err);
    if (status)
        return status;
    return policy->foresee(planner->packer, planner->next_step,
                           foresight_lengths(&planner->foresight), planner->foresight.count, err);
}

static int pack_step(struct planner *planner, struct error *err)
{
    if (planner->watcher)
        planner->watcher(planner->watcher_context, true);
    int status = tell_ahead(planner, err);
    if (status == 0)
        status = planner->policy->pack(planner->packer, planner->ended, &planner->packing, err);
    if (planner->watcher)
        planner->watcher(planner->watcher_context, false);
    return status;
}

/* Reads what waits into planner->waiting. */
static int list_waiting(struct planner *planner, size_t *ret_count, struct error *err)
{
    size_t count = planner->policy->waiting(planner->packer, NULL, 0);
    if (!grow(planner->waiting, &planner->waiting_capacity, count))
        return error_memory(err, "planning");
    *ret_count = planner->policy->waiting(planner->packer, planner->waiting, count);
    return 0;
}

static int sum_waiting(struct planner *planner, struct plan_waiting *ret_waiting, struct error *err)
{
    size_t count = 0;
    int status = list_waiting(planner, &count, err);
    if (status)
        return status;
    struct plan_waiting sum = { .pieces = count, .oldest = planner->next_step + 1 };
    for (size_t i = 0; i < count; i++) {
        const struct piece *piece = &planner->waiting[i].piece;
        sum.tokens += piece->length;
        if (piece->arrived < sum.oldest)
            sum.oldest = piece->arrived;
    }
    *ret_waiting = sum;
    return 0;
}

/* Is this the last step, and short of a full global batch? */
static bool short_last_step(const struct planner *planner, const struct plan_waiting *waiting)
{
    uint64_t full = (uint64_t)planner->shape.microbatches * planner->shape.window;
    return planner->ended && waiting->pieces == 0 && planner->packing.tokens < full;
}

static enum planner_result finish(struct planner *planner)
{
    planner->finished = true;
    planner->dropped_pieces += planner->packing.piece_count;
    planner->dropped_tokens += planner->packing.tokens;
    return PLANNER_END;
}

enum planner_result planner_step(struct planner *planner, struct step_plan *plan, struct error *err)
{
    if (planner->finished)
        return PLANNER_END;
    struct plan_waiting waiting;
    if (take_in(planner, err) || pack_step(planner, err) || check_corpus(planner, err) ||
        sum_waiting(planner, &waiting, err))
        return PLANNER_ERROR;
    if (short_last_step(planner, &waiting) &&
        (planner->packing.piece_count == 0 || planner->config->last_step == LAST_STEP_DROP))
        return finish(planner);

    if (assemble_plan(planner->next_step, &planner->packing, planner->shape.microbatches,
                      &planner->config->sharding, planner->digest, &planner->shards, plan, err))
        return PLANNER_ERROR;
    plan->waiting = waiting;
    planner->digest = plan->digest;
    planner->next_step++;
    return PLANNER_STEP;
}

uint64_t planner_next_step(const struct planner *planner)
{
    return planner->next_step;
}

const struct auto_thresholds *planner_auto_thresholds(const struct planner *planner)
{
    return planner->thresholds;
}

struct digest planner_job_digest(const struct planner *planner)
{
    return planner->job;
}

const char *planner_job_text(const struct planner *planner)
{
    return planner->job_text;
}

const struct source_cursor *planner_cursors(const struct planner *planner)
{
    return stream_cursors(planner->stream);
}

const struct pack_policy *planner_policy(const struct planner *planner, const void **ret_state)
{
    *ret_state = planner->packer;
    return planner->policy;
}

void planner_state_fini(struct planner_state *state)
{
    free(state->cursors);
    free(state->waiting);
    *state = (struct planner_state){ 0 };
}

int planner_save(const struct planner *planner, struct planner_state *state, struct error *err)
{
    size_t cursors = planner->config->source_count;
    size_t waiting = planner->policy->waiting(planner->packer, NULL, 0);
    if (!grow(state->cursors, &state->cursor_capacity, cursors) ||
        !grow(state->waiting, &state->waiting_capacity, waiting))
        return error_memory(err, "saving the planner's state");
    memcpy(state->cursors, stream_cursors(planner->stream), cursors * sizeof *state->cursors);
    state->cursor_count = cursors;
    state->waiting_count = planner->policy->waiting(planner->packer, state->waiting, waiting);
    state->next_step = planner->next_step;
    state->digest = planner->digest;
    state->ended = planner->ended;
    state->finished = planner->finished;
    state->dropped_pieces = planner->dropped_pieces;
    state->dropped_tokens = planner->dropped_tokens;
    return 0;
}

int planner_restore(struct planner *planner, const struct planner_state *state, struct error *err)
{
    if (state->cursor_count != planner->config->source_count)
        return error_set(err, EX_DATAERR,
                         "planner state: holds %zu sources, the configuration %u: the state "
                         "belongs to another configuration",
                         state->cursor_count, planner->config->source_count);
    int status =
        planner->policy->restore(planner->packer, state->waiting, state->waiting_count, err);
    if (status)
        return status;
    stream_seek(planner->stream, state->cursors);
    if (planner->foresight.scout)
        foresight_seek(&planner->foresight, state->cursors);
    planner->next_step = state->next_step;
    planner->digest = state->digest;
    planner->ended = state->ended;
    planner->finished = state->finished;
    planner->dropped_pieces = state->dropped_pieces;
    planner->dropped_tokens = state->dropped_tokens;
    return 0;
}
