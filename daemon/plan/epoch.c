/* An epoch from its opening to its end: stream, packing, sharding. */
#include <stdlib.h>
#include <string.h>

#include "plan/assemble.h"
#include "plan/epoch_state.h"
#include "plan/job_text.h"

/* Part of the job digest: raise it when the same inputs begin to give other plans. */
#define PLAN_GENERATION "ballast plan 1"

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
enum planner_result epoch_pack_next(struct epoch *epoch, struct plan_waiting *ret_waiting,
                                    struct error *err)
{
    if (epoch->finished)
        return PLANNER_END;
    if (take_in(epoch, err) || pack_step(epoch, err) || check_corpus(epoch, err) ||
        epoch_sum_waiting(epoch, ret_waiting, err))
        return PLANNER_ERROR;
    if (short_last_step(epoch, ret_waiting) &&
        (epoch->packing.piece_count == 0 || epoch->config->last_step == LAST_STEP_DROP))
        return finish(epoch);
    return PLANNER_STEP;
}

enum planner_result epoch_step(struct epoch *epoch, struct step_plan *plan, struct error *err)
{
    struct plan_waiting waiting;
    enum planner_result result = epoch_pack_next(epoch, &waiting, err);
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
