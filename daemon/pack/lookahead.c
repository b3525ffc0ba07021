#include "pack/lookahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/*
 * Who still waits at the end of the play goes on waiting, and as long again as it has already is
 * the guess; half of it serves best over windows, N and corpora tried (tests/bench/RESEARCH.md).
 */
#define AFTERWARDS_DIVISOR 2

void lookahead_fini(struct lookahead *lookahead)
{
    for (size_t b = 0; b < LOOKAHEAD_BATCHES; b++)
        free(lookahead->batches[b].outliers);
    free(lookahead->pool);
    free(lookahead->merged);
    free(lookahead->take);
    *lookahead = (struct lookahead){ 0 };
}

/* ---- what the stream will bring ---- */

static int longest_first(const void *left, const void *right)
{
    const struct outlier *a = left, *b = right;
    return (a->length < b->length) - (a->length > b->length);
}

static int add_outlier(struct arrivals *batch, workload work, uint32_t length, uint32_t step,
                       struct error *err)
{
    if (!grow(batch->outliers, &batch->capacity, batch->count + 1))
        return error_memory(err, "packing");
    batch->outliers[batch->count++] = (struct outlier){ work, length, step };
    return 0;
}

/* Lengths that follow in the stream, and how to read them. */
struct reading {
    const struct pack_shape *shape;
    uint64_t batch_tokens;   /* at least, of a global batch */
    uint32_t outlier_tokens; /* of the shortest outlier */
    const uint32_t *lengths;
    size_t count, at; /* lengths[at .. count) are still to be read */
};

/* Reads what arrives in `step`; *ret_full tells whether it fills a global batch. */
static int read_batch(struct reading *reading, uint32_t step, struct arrivals *batch,
                      bool *ret_full, struct error *err)
{
    uint64_t tokens = 0;
    batch->count = 0;
    batch->liquid = (struct liquid){ 0 };
    while (tokens < reading->batch_tokens && reading->at < reading->count) {
        uint32_t length = reading->lengths[reading->at++];
        workload work = cost_piece(&reading->shape->cost, length);
        tokens += length;
        if (length < reading->outlier_tokens) {
            batch->liquid.work += work;
            batch->liquid.tokens += length;
            continue;
        }
        int status = add_outlier(batch, work, length, step, err);
        if (status)
            return status;
    }
    /* Equal lengths arrived in the same step are alike: an unstable sort cannot be told apart. */
    if (batch->count > 1)
        qsort(batch->outliers, batch->count, sizeof *batch->outliers, longest_first);
    *ret_full = tokens >= reading->batch_tokens;
    return 0;
}

int lookahead_learn(struct lookahead *lookahead, const struct pack_shape *shape,
                    uint64_t batch_tokens, uint32_t outlier_tokens, uint32_t step,
                    const uint32_t *lengths, size_t count, struct error *err)
{
    struct reading reading = { shape, batch_tokens, outlier_tokens, lengths, count, 0 };
    bool full = true;
    lookahead->batch_count = 0;
    for (uint32_t b = 0; b < LOOKAHEAD_BATCHES && full; b++) {
        int status = read_batch(&reading, step + b, &lookahead->batches[b], &full, err);
        if (status)
            return status;
        lookahead->batch_count += full;
    }
    return 0;
}

/* ---- playing forward ---- */

static int64_t tokens_waiting(const struct outlier *pool, size_t count)
{
    int64_t tokens = 0;
    for (size_t i = 0; i < count; i++)
        tokens += pool[i].length;
    return tokens * RELEASE_UNIT;
}

static int64_t afterwards(const struct outlier *pool, size_t count, uint32_t step)
{
    int64_t waits = 0;
    for (size_t i = 0; i < count; i++)
        waits += (int64_t)pool[i].length * (1 + (int64_t)(step - pool[i].arrived));
    return waits * (RELEASE_UNIT / AFTERWARDS_DIVISOR);
}

/* Releases a choice from the pool at hand; returns how many outliers stay. */
static size_t let_go(struct lookahead *lookahead, struct release *release, size_t count,
                     const struct choice *choice)
{
    size_t kept = 0;
    release_take(release, lookahead->pool, count, choice, lookahead->take);
    for (size_t i = 0; i < count; i++)
        if (!lookahead->take[i])
            lookahead->pool[kept++] = lookahead->pool[i];
    return kept;
}

/* Merges a batch's outliers into the pool at hand, older ones first among equals. */
static size_t welcome(struct lookahead *lookahead, size_t count, const struct arrivals *batch)
{
    size_t a = 0, b = 0, n = 0;
    while (a < count || b < batch->count) {
        bool old = b == batch->count ||
                   (a < count && lookahead->pool[a].length >= batch->outliers[b].length);
        lookahead->merged[n++] = old ? lookahead->pool[a++] : batch->outliers[b++];
    }
    struct outlier *pool = lookahead->pool;
    size_t capacity = lookahead->pool_capacity;
    lookahead->pool = lookahead->merged;
    lookahead->pool_capacity = lookahead->merged_capacity;
    lookahead->merged = pool;
    lookahead->merged_capacity = capacity;
    return n;
}

/* Where a choice has to be made. */
struct situation {
    const struct outlier *pool;
    size_t count;
    uint32_t step;
};

/* What a choice costs over the known batches, or anything above `limit` once it is over that. */
static int play(struct lookahead *lookahead, struct release *release, const struct situation *now,
                const struct choice *first, int64_t limit, int64_t *ret_cost, struct error *err)
{
    if (now->count)
        memcpy(lookahead->pool, now->pool, now->count * sizeof *now->pool);
    size_t left = let_go(lookahead, release, now->count, first), forced = release->forced_count;
    int64_t cost = first->cost + tokens_waiting(lookahead->pool, left);
    struct liquid behind = first->left;
    release->forced_count = 0; /* gone with the first */
    int status = 0;
    for (size_t b = 0; b < lookahead->batch_count && cost <= limit; b++) {
        const struct arrivals *batch = &lookahead->batches[b];
        size_t best;
        left = welcome(lookahead, left, batch);
        behind.work += batch->liquid.work;
        behind.tokens += batch->liquid.tokens;
        status = release_consider(release, lookahead->pool, left, behind,
                                  now->step + 1 + (uint32_t)b, &best, err);
        if (status)
            break;
        struct choice choice = release->choices[best];
        left = let_go(lookahead, release, left, &choice);
        behind = choice.left;
        cost += choice.cost + tokens_waiting(lookahead->pool, left);
    }
    release->forced_count = forced;
    uint32_t end = now->step + (uint32_t)lookahead->batch_count;
    *ret_cost = cost + afterwards(lookahead->pool, left, end);
    return status;
}

static int reserve(struct lookahead *lookahead, size_t count, struct error *err)
{
    for (size_t b = 0; b < lookahead->batch_count; b++)
        count += lookahead->batches[b].count;
    if (!grow(lookahead->pool, &lookahead->pool_capacity, count) ||
        !grow(lookahead->merged, &lookahead->merged_capacity, count) ||
        !grow(lookahead->take, &lookahead->take_capacity, count))
        return error_memory(err, "packing");
    return 0;
}

/* Moves the best choices to `best`, at most LOOKAHEAD_CHOICES, best first; returns how many. */
static size_t pick_best(const struct release *release, struct choice *best)
{
    size_t count = 0;
    for (size_t i = 0; i < release->choice_count; i++) {
        struct choice choice = release->choices[i];
        size_t at = count;
        while (at > 0 && choice_better(&choice, &best[at - 1]))
            at--;
        if (at == LOOKAHEAD_CHOICES)
            continue;
        count += count < LOOKAHEAD_CHOICES;
        memmove(&best[at + 1], &best[at], (count - at - 1) * sizeof *best);
        best[at] = choice;
    }
    return count;
}

int lookahead_choose(struct lookahead *lookahead, struct release *release,
                     const struct outlier *pool, size_t count, struct liquid liquid, uint32_t step,
                     struct choice *ret_choice, struct error *err)
{
    struct choice best[LOOKAHEAD_CHOICES];
    size_t ignored;
    int status = release_consider(release, pool, count, liquid, step, &ignored, err);
    if (status == 0)
        status = reserve(lookahead, count, err);
    if (status)
        return status;
    size_t choices = pick_best(release, best), winner = 0;
    struct situation now = { pool, count, step };
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < choices && best[i].tokens == best[0].tokens; i++) {
        int64_t cost;
        status = play(lookahead, release, &now, &best[i], least, &cost, err);
        if (status)
            return status;
        if (cost < least) {
            least = cost;
            winner = i;
        }
    }
    *ret_choice = best[winner];
    return 0;
}
