/*
 * `adaptive`, ours: no thresholds to tune. Outliers wait in one pool; each step releases those that
 * together fill all micro-batches to one level (pack/release.h), chosen with foresight
 * (pack/lookahead.h); small pieces wait only where tokens are short. With `objective: step-time`
 * replicas are filled to a level instead, and their micro-batches put in order for the pipeline
 * (pack/replicas.h). `balance` moves along the trade-off from least delay (0) to best balance (1);
 * `max_delay` is a promise (pack/promise.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "pack/grouping.h"
#include "pack/longest_first.h"
#include "pack/lookahead.h"
#include "pack/pieces.h"
#include "pack/placement.h"
#include "pack/policies.h"
#include "pack/promise.h"
#include "pack/release.h"
#include "pack/replicas.h"

/* A piece of at least S / 16 tokens may wait: shorter ones balance a step, they do not upset it. */
#define OUTLIER_FRACTION 16

enum { LEFT_OVER, IN_POOL }; /* places of a waiting piece */

struct adaptive {
    struct pack_shape shape;
    uint32_t outlier_tokens; /* shortest outlier */
    struct promise promise;

    struct pieces left;  /* small pieces that stayed behind in earlier steps */
    struct pieces small; /* this step's pieces that do not wait */
    struct pieces pool;  /* outliers, longest first but for what this step brought */
    uint64_t intake;     /* tokens taken since the last step */

    struct release release;
    struct lookahead lookahead;
    uint64_t step; /* that is packed next, as `foresee` says */

    /* Working memory. */
    struct outlier *outliers, *forced;
    bool *take, *must;
    size_t outlier_capacity, forced_capacity, take_capacity, must_capacity;
    struct pieces now; /* what is to be placed in this step, in this order */
    size_t urgent;     /* the first of them, which keep the promise */
    struct placement placement;
    struct longest_first sort;
};

static uint64_t batch_tokens(const struct adaptive *adaptive)
{
    return (uint64_t)adaptive->shape.microbatches * adaptive->shape.window;
}

static void adaptive_close(void *state)
{
    struct adaptive *adaptive = state;
    if (!adaptive)
        return;
    pieces_fini(&adaptive->left);
    pieces_fini(&adaptive->small);
    pieces_fini(&adaptive->pool);
    pieces_fini(&adaptive->now);
    release_fini(&adaptive->release);
    lookahead_fini(&adaptive->lookahead);
    placement_fini(&adaptive->placement);
    longest_first_fini(&adaptive->sort);
    free(adaptive->outliers);
    free(adaptive->forced);
    free(adaptive->take);
    free(adaptive->must);
    free(adaptive);
}

static int check_options(const struct pack_options *options, struct error *err)
{
    if (!(options->balance >= 0 && options->balance <= 1))
        return error_set(err, EX_CONFIG,
                         "packing.balance: found %g, expected 0 (least delay) to 1 (best balance)",
                         options->balance);
    if (options->max_delay == 0 || options->max_delay > PROMISE_MOST_DELAY)
        return error_set(err, EX_CONFIG, "packing.max_delay: found %u, expected 1 to %d steps",
                         options->max_delay, PROMISE_MOST_DELAY);
    return 0;
}

static int adaptive_open(const struct pack_shape *shape, const struct pack_options *options,
                         void **ret_state, struct error *err)
{
    int status = check_options(options, err);
    if (status)
        return status;
    struct adaptive *adaptive = calloc(1, sizeof *adaptive);
    if (!adaptive)
        return error_memory(err, "opening the packer");
    adaptive->shape = *shape;
    if (options->objective == PACK_MAX_MICROBATCH || shape->replicas == 0)
        adaptive->shape.replicas = shape->microbatches;
    /* A single micro-batch is always level: nothing needs to wait for company. */
    adaptive->outlier_tokens =
        shape->microbatches > 1 ? shape->window / OUTLIER_FRACTION + 1 : UINT32_MAX;
    promise_init(&adaptive->promise, shape, options->max_delay, shape->window / OUTLIER_FRACTION);
    uint32_t balance = (uint32_t)lround(options->balance * RELEASE_BALANCE);
    status = release_init(&adaptive->release, &adaptive->shape, balance, err);
    if (status == 0)
        status = placement_init(&adaptive->placement, &adaptive->shape, err);
    if (status) {
        adaptive_close(adaptive);
        return status;
    }
    *ret_state = adaptive;
    return 0;
}

/* ---- intake ---- */

static bool adaptive_wants(const void *state)
{
    const struct adaptive *adaptive = state;
    uint64_t waiting = adaptive->left.tokens + adaptive->pool.tokens;
    return adaptive->left.tokens + adaptive->intake < batch_tokens(adaptive) &&
           waiting <= adaptive->promise.most_waiting &&
           waiting + adaptive->small.tokens <= adaptive->promise.most_held;
}

static int adaptive_offer(void *state, const struct piece *piece, struct error *err)
{
    struct adaptive *adaptive = state;
    bool outlier = piece->length >= adaptive->outlier_tokens;
    int status = pieces_push(outlier ? &adaptive->pool : &adaptive->small, piece, err);
    if (status == 0)
        adaptive->intake += piece->length;
    return status;
}

static uint64_t adaptive_foresight(const void *state)
{
    const struct adaptive *adaptive = state;
    return LOOKAHEAD_BATCHES * (batch_tokens(adaptive) + adaptive->shape.window);
}

static int adaptive_foresee(void *state, uint64_t step, const uint32_t *lengths, size_t count,
                            struct error *err)
{
    struct adaptive *adaptive = state;
    adaptive->step = step;
    return lookahead_learn(&adaptive->lookahead, &adaptive->shape, batch_tokens(adaptive),
                           adaptive->outlier_tokens, (uint32_t)step + 1, lengths, count, err);
}

/* ---- what goes now ---- */

static struct liquid liquid_of(const struct adaptive *adaptive)
{
    const struct pieces *parts[] = { &adaptive->left, &adaptive->small };
    struct liquid liquid = { 0 };
    for (int p = 0; p < 2; p++) {
        liquid.tokens += parts[p]->tokens;
        for (size_t i = 0; i < parts[p]->count; i++)
            liquid.work += cost_piece(&adaptive->shape.cost, pieces_first(parts[p])[i].length);
    }
    return liquid;
}

static int reserve(struct adaptive *adaptive, struct error *err)
{
    size_t count = adaptive->pool.count;
    if (!grow(adaptive->outliers, &adaptive->outlier_capacity, count) ||
        !grow(adaptive->forced, &adaptive->forced_capacity, count) ||
        !grow(adaptive->take, &adaptive->take_capacity, count) ||
        !grow(adaptive->must, &adaptive->must_capacity, count))
        return error_memory(err, "packing");
    return 0;
}

/* Finds the outliers that must go to keep the promise. Left-overs are asked for afterwards. */
static void keep_promise(struct adaptive *adaptive)
{
    struct promise *promise = &adaptive->promise;
    promise_begin(promise);
    promise_add(promise, pieces_first(&adaptive->left), adaptive->left.count, adaptive->step);
    promise_add(promise, pieces_first(&adaptive->pool), adaptive->pool.count, adaptive->step);
    promise_settle(promise);
    for (size_t i = 0; i < adaptive->pool.count; i++)
        adaptive->must[i] =
            promise_must_go(promise, &pieces_first(&adaptive->pool)[i], adaptive->step);
}

/* The pool as the choice sees it: those that may wait, and those that must go. */
static size_t split_pool(struct adaptive *adaptive, size_t *ret_forced)
{
    size_t count = 0, forced = 0;
    for (size_t i = 0; i < adaptive->pool.count; i++) {
        const struct piece *piece = &pieces_first(&adaptive->pool)[i];
        struct outlier outlier = { cost_piece(&adaptive->shape.cost, piece->length), piece->length,
                                   (uint32_t)piece->arrived };
        if (adaptive->must[i])
            adaptive->forced[forced++] = outlier;
        else
            adaptive->outliers[count++] = outlier;
    }
    *ret_forced = forced;
    return count;
}

/* Afterwards take[k] says whether the k-th of those that may wait goes. */
static int choose(struct adaptive *adaptive, struct error *err)
{
    size_t forced, count = split_pool(adaptive, &forced);
    struct choice choice;
    adaptive->release.forced = adaptive->forced;
    adaptive->release.forced_count = forced;
    int status =
        lookahead_choose(&adaptive->lookahead, &adaptive->release, adaptive->outliers, count,
                         liquid_of(adaptive), (uint32_t)adaptive->step, &choice, err);
    if (status == 0)
        release_take(&adaptive->release, adaptive->outliers, count, &choice, adaptive->take);
    return status;
}

/* Turns `take`, which counts those that may wait, into one flag for each of the pool. */
static void spread_take(struct adaptive *adaptive)
{
    size_t other = 0;
    for (size_t i = 0; i < adaptive->pool.count; i++)
        other += !adaptive->must[i];
    for (size_t i = adaptive->pool.count; i-- > 0;)
        adaptive->take[i] = !adaptive->must[i] && adaptive->take[--other];
}

/* Decides for every outlier: must[i], or else take[i]. At the end of data everything goes. */
static int decide(struct adaptive *adaptive, bool draining, struct error *err)
{
    int status = longest_first_sort(&adaptive->sort, pieces_first(&adaptive->pool),
                                    adaptive->pool.count, err);
    if (status == 0)
        status = reserve(adaptive, err);
    if (status)
        return status;
    keep_promise(adaptive);
    if (draining) {
        for (size_t i = 0; i < adaptive->pool.count; i++)
            adaptive->take[i] = !adaptive->must[i];
        return 0;
    }
    status = choose(adaptive, err);
    if (status == 0)
        spread_take(adaptive);
    return status;
}

/* ---- placing ---- */

/* Adds the flagged outliers to `now`. */
static int add_flagged(struct adaptive *adaptive, const bool *flags, struct error *err)
{
    for (size_t i = 0; i < adaptive->pool.count; i++) {
        if (!flags[i])
            continue;
        int status = pieces_push(&adaptive->now, &pieces_first(&adaptive->pool)[i], err);
        if (status)
            return status;
    }
    return 0;
}

static void drop_flagged(struct adaptive *adaptive)
{
    struct piece *items = pieces_first(&adaptive->pool);
    size_t kept = 0;
    for (size_t i = 0; i < adaptive->pool.count; i++) {
        if (!adaptive->must[i] && !adaptive->take[i])
            items[kept++] = items[i];
        else
            adaptive->pool.tokens -= items[i].length;
    }
    adaptive->pool.count = kept;
}

/* Adds left-overs to `now`: those that must go if `urgent`, else all that are still there. */
static int add_left(struct adaptive *adaptive, bool urgent, struct error *err)
{
    struct pieces *left = &adaptive->left;
    struct piece *items = pieces_first(left);
    size_t kept = 0, count = left->count;
    for (size_t i = 0; i < count; i++) {
        if (urgent && !promise_must_go(&adaptive->promise, &items[i], adaptive->step)) {
            items[kept++] = items[i];
            continue;
        }
        int status = pieces_push(&adaptive->now, &items[i], err);
        if (status)
            return status;
        left->tokens -= items[i].length;
    }
    left->count = kept;
    return 0;
}

static int sort_from(struct adaptive *adaptive, size_t first, struct error *err)
{
    if (first == adaptive->now.count)
        return 0;
    return longest_first_sort(&adaptive->sort, pieces_first(&adaptive->now) + first,
                              adaptive->now.count - first, err);
}

/* Fills `now`: what must go, longest first, then what else goes, longest first. */
static int line_up(struct adaptive *adaptive, struct error *err)
{
    pieces_clear(&adaptive->now);
    int status = add_flagged(adaptive, adaptive->must, err);
    if (status == 0)
        status = add_left(adaptive, true, err);
    if (status == 0)
        status = sort_from(adaptive, 0, err);
    adaptive->urgent = adaptive->now.count;
    if (status == 0)
        status = add_flagged(adaptive, adaptive->take, err);
    if (status == 0)
        status = add_left(adaptive, false, err);
    if (status == 0)
        status = pieces_push_all(&adaptive->now, pieces_first(&adaptive->small),
                                 adaptive->small.count, err);
    if (status)
        return status;
    drop_flagged(adaptive);
    pieces_clear(&adaptive->small);
    adaptive->intake = 0;
    return sort_from(adaptive, adaptive->urgent, err);
}

/* Small pieces may stay behind while the promise holds whatever is left. */
static struct leeway leeway_of(const struct adaptive *adaptive, bool draining)
{
    uint64_t held = adaptive->left.tokens + adaptive->pool.tokens + adaptive->now.tokens;
    if (draining || held > adaptive->promise.most_left)
        return (struct leeway){ 0 };
    return (struct leeway){ adaptive->outlier_tokens, adaptive->urgent, adaptive->release.idle };
}

/* What has no place waits on: outliers in the pool, small pieces as left over. */
static int keep_unplaced(struct adaptive *adaptive, struct error *err)
{
    for (size_t i = 0; i < adaptive->now.count; i++) {
        const struct piece *piece = &pieces_first(&adaptive->now)[i];
        if (adaptive->placement.groups[i] != GROUP_NONE)
            continue;
        bool outlier = piece->length >= adaptive->outlier_tokens;
        int status = pieces_push(outlier ? &adaptive->pool : &adaptive->left, piece, err);
        if (status)
            return status;
    }
    return 0;
}

static int adaptive_pack(void *state, bool draining, struct packing *ret_packing, struct error *err)
{
    struct adaptive *adaptive = state;
    int status = decide(adaptive, draining, err);
    if (status == 0)
        status = line_up(adaptive, err);
    if (status == 0)
        status = place_pieces(&adaptive->placement, pieces_first(&adaptive->now),
                              adaptive->now.count, leeway_of(adaptive, draining), err);
    if (status == 0)
        status = group_pieces(&adaptive->shape, pieces_first(&adaptive->now),
                              adaptive->placement.groups, adaptive->now.count, ret_packing, err);
    if (status == 0)
        status = keep_unplaced(adaptive, err);
    if (status == 0 && adaptive->shape.replicas < adaptive->shape.microbatches)
        status = order_replicas(&adaptive->shape, ret_packing, err);
    return status;
}

/* ---- what waits ---- */

static size_t adaptive_waiting(const void *state, struct waiting_piece *pieces, size_t capacity)
{
    const struct adaptive *adaptive = state;
    size_t count = 0;
    for (size_t i = 0; i < adaptive->left.count; i++, count++)
        if (count < capacity)
            pieces[count] = (struct waiting_piece){ .piece = pieces_first(&adaptive->left)[i],
                                                    .place = LEFT_OVER };
    for (size_t i = 0; i < adaptive->pool.count; i++, count++)
        if (count < capacity)
            pieces[count] = (struct waiting_piece){ .piece = pieces_first(&adaptive->pool)[i],
                                                    .place = IN_POOL };
    return count;
}

static int adaptive_restore(void *state, const struct waiting_piece *pieces, size_t count,
                            struct error *err)
{
    struct adaptive *adaptive = state;
    pieces_clear(&adaptive->left);
    pieces_clear(&adaptive->small);
    pieces_clear(&adaptive->pool);
    adaptive->intake = 0;
    for (size_t i = 0; i < count; i++) {
        struct pieces *to = pieces[i].place == LEFT_OVER ? &adaptive->left : &adaptive->pool;
        int status = pieces_push(to, &pieces[i].piece, err);
        if (status)
            return status;
    }
    return 0;
}

static void adaptive_place_name(const void *state, uint32_t place, char *text, size_t bytes)
{
    const struct adaptive *adaptive = state;
    if (place == LEFT_OVER)
        snprintf(text, bytes, "left over");
    else
        snprintf(text, bytes, "pool (>= %u tokens)", adaptive->outlier_tokens);
}

const struct pack_policy pack_adaptive = {
    .name = "adaptive",
    .open = adaptive_open,
    .close = adaptive_close,
    .wants = adaptive_wants,
    .offer = adaptive_offer,
    .foresight = adaptive_foresight,
    .foresee = adaptive_foresee,
    .pack = adaptive_pack,
    .waiting = adaptive_waiting,
    .restore = adaptive_restore,
    .place_name = adaptive_place_name,
};
