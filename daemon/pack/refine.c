#include "pack/refine.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/wide.h"

/* Good enough: the heaviest micro-batch is over the mean by less than this part of it. */
#define CLOSE_TO_MEAN 4096

/* Light micro-batches tried as partners before the search gives up. */
#define PARTNERS 4

void refine_fini(struct refine *refine)
{
    free(refine->long_ones);
    free(refine->short_ones);
    *refine = (struct refine){ 0 };
}

/* One long piece of the heavy micro-batch for the first few short ones of the light one. */
struct exchange {
    uint32_t given;   /* index of the long piece */
    size_t taken;     /* how many of short_ones */
    workload highest; /* of the two micro-batches afterwards */
};

static uint32_t heaviest(const struct placed *placed)
{
    uint32_t best = 0;
    for (uint32_t m = 1; m < placed->shape->microbatches; m++)
        if (placed->work[m] > placed->work[best])
            best = m;
    return best;
}

/* The lightest one that is heavier than `after`, ties by index; N when there is none. */
static uint32_t next_lightest(const struct placed *placed, uint32_t after)
{
    uint32_t n = placed->shape->microbatches, best = n;
    for (uint32_t m = 0; m < n; m++) {
        bool later = after == n || placed->work[m] > placed->work[after] ||
                     (m > after && placed->work[m] == placed->work[after]);
        if (m != after && later && (best == n || placed->work[m] < placed->work[best]))
            best = m;
    }
    return best;
}

static bool close_to_mean(const struct placed *placed, workload most)
{
    wide sum = 0;
    for (uint32_t m = 0; m < placed->shape->microbatches; m++)
        sum += placed->work[m];
    wide mean = sum / placed->shape->microbatches;
    return most - mean <= mean / CLOSE_TO_MEAN;
}

/* The pieces of one micro-batch from the last placed to the first: short ones before long ones. */
static int list_members(const struct placed *placed, uint32_t microbatch, uint32_t **members,
                        size_t *capacity, size_t *ret_count, struct error *err)
{
    size_t count = 0;
    for (size_t i = placed->count; i-- > 0;) {
        if (placed->groups[i] != microbatch)
            continue;
        if (!grow(*members, capacity, count + 1))
            return error_memory(err, "packing");
        (*members)[count++] = (uint32_t)i;
    }
    *ret_count = count;
    return 0;
}

/* Two micro-batches as an exchange under consideration would leave them. */
struct pair {
    workload heavy_work, light_work;
    uint64_t heavy_tokens, light_tokens;
};

static struct pair give(const struct placed *placed, struct pair pair, uint32_t piece)
{
    uint32_t length = placed->pieces[piece].length;
    workload work = cost_piece(&placed->shape->cost, length);
    return (struct pair){ pair.heavy_work - work, pair.light_work + work,
                          pair.heavy_tokens - length, pair.light_tokens + length };
}

static struct pair take(const struct placed *placed, struct pair pair, uint32_t piece)
{
    uint32_t length = placed->pieces[piece].length;
    workload work = cost_piece(&placed->shape->cost, length);
    return (struct pair){ pair.heavy_work + work, pair.light_work - work,
                          pair.heavy_tokens + length, pair.light_tokens - length };
}

static workload highest(struct pair pair)
{
    return pair.heavy_work > pair.light_work ? pair.heavy_work : pair.light_work;
}

/* Tries one long piece: takes short ones until the light one holds it and is not the heavier. */
static void try_piece(const struct refine *refine, const struct placed *placed, struct pair pair,
                      uint32_t given, size_t short_count, struct exchange *best)
{
    uint32_t cap = placed->shape->max_tokens;
    pair = give(placed, pair, given);
    for (size_t taken = 0;; taken++) {
        if (pair.heavy_tokens > cap)
            return;
        if (pair.light_tokens <= cap && highest(pair) < best->highest)
            *best = (struct exchange){ given, taken, highest(pair) };
        bool done = pair.light_tokens <= cap && pair.light_work <= pair.heavy_work;
        if (done || taken == short_count)
            return;
        pair = take(placed, pair, refine->short_ones[taken]);
    }
}

static void move(struct placed *placed, uint32_t piece, uint32_t to)
{
    uint32_t length = placed->pieces[piece].length, from = placed->groups[piece];
    workload work = cost_piece(&placed->shape->cost, length);
    placed->work[from] -= work;
    placed->tokens[from] -= length;
    placed->work[to] += work;
    placed->tokens[to] += length;
    placed->groups[piece] = to;
}

/* Makes the best exchange between the two, if it lowers the heavy one; *ret_done tells. */
static int exchange(struct refine *refine, struct placed *placed, uint32_t heavy, size_t long_count,
                    uint32_t light, bool *ret_done, struct error *err)
{
    size_t short_count = 0;
    int status = list_members(placed, light, &refine->short_ones, &refine->short_capacity,
                              &short_count, err);
    if (status)
        return status;
    struct pair pair = { placed->work[heavy], placed->work[light], placed->tokens[heavy],
                         placed->tokens[light] };
    struct exchange best = { .highest = pair.heavy_work };
    for (size_t i = 0; i < long_count; i++)
        try_piece(refine, placed, pair, refine->long_ones[i], short_count, &best);
    *ret_done = best.highest < pair.heavy_work;
    if (!*ret_done)
        return 0;
    move(placed, best.given, light);
    for (size_t i = 0; i < best.taken; i++)
        move(placed, refine->short_ones[i], heavy);
    return 0;
}

/* One round: the heaviest with the lightest, or the next ones; *ret_done: something was gained. */
static int improve(struct refine *refine, struct placed *placed, bool *ret_done, struct error *err)
{
    uint32_t n = placed->shape->microbatches, heavy = heaviest(placed), light = n;
    *ret_done = false;
    if (close_to_mean(placed, placed->work[heavy]))
        return 0;
    size_t long_count = 0;
    int status =
        list_members(placed, heavy, &refine->long_ones, &refine->long_capacity, &long_count, err);
    for (int i = 0; i < PARTNERS && status == 0 && !*ret_done; i++) {
        light = next_lightest(placed, light);
        if (light == n || light == heavy)
            break;
        status = exchange(refine, placed, heavy, long_count, light, ret_done, err);
    }
    return status;
}

int refine_placed(struct refine *refine, struct placed *placed, struct error *err)
{
    bool gained = true;
    for (uint32_t round = 0; round < 2 * placed->shape->microbatches && gained; round++) {
        int status = improve(refine, placed, &gained, err);
        if (status)
            return status;
    }
    return 0;
}
