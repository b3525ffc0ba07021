#include "pack/refine.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/wide.h"
#include "pack/grouping.h"

/* Good enough: the heaviest micro-batch is over the mean by less than this part of it. */
#define CLOSE_TO_MEAN 4096

/* Exchanges made at most, for each micro-batch. */
#define MOST_EXCHANGES 8

void refine_fini(struct refine *refine)
{
    for (size_t m = 0; m < refine->member_capacity; m++)
        free(refine->members[m].list);
    free(refine->members);
    *refine = (struct refine){ 0 };
}

/* One long piece of the heavy micro-batch for the shortest few of the light one. */
struct exchange {
    size_t given;     /* index of the long piece among the heavy one's members */
    size_t taken;     /* how many of the light one's */
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

/* The lightest one that is heavier than `after`, ties by index; N when there is none. In the end
 * it is the heaviest, the last of those by index. */
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

/* ---- who is where ---- */

/* Keeps the shortest first; equal ones in the order in which they come. */
static int add_member(struct members *members, struct member member, struct error *err)
{
    if (!grow(members->list, &members->capacity, members->count + 1))
        return error_memory(err, "packing");
    size_t at = members->count++;
    for (; at > 0 && members->list[at - 1].length > member.length; at--)
        members->list[at] = members->list[at - 1];
    members->list[at] = member;
    return 0;
}

static void drop_members(struct members *members, size_t first, size_t count)
{
    if (count == 0)
        return; /* there may be no list at all */
    members->count -= count;
    memmove(members->list + first, members->list + first + count,
            (members->count - first) * sizeof *members->list);
}

static int list_members(struct refine *refine, const struct placed *placed, struct error *err)
{
    uint32_t n = placed->shape->microbatches;
    size_t had = refine->member_capacity;
    if (!grow(refine->members, &refine->member_capacity, n))
        return error_memory(err, "packing");
    memset(refine->members + had, 0, (refine->member_capacity - had) * sizeof *refine->members);
    for (uint32_t m = 0; m < n; m++)
        refine->members[m].count = 0;
    /* Placed longest first, so nearly every piece belongs at the end. */
    int status = 0;
    for (size_t i = placed->count; i-- > 0 && status == 0;) {
        uint32_t length = placed->pieces[i].length, m = placed->groups[i];
        struct member member = { cost_piece(&placed->shape->cost, length), length, (uint32_t)i };
        if (m != GROUP_NONE)
            status = add_member(&refine->members[m], member, err);
    }
    return status;
}

/* ---- one exchange ---- */

/* Two micro-batches as an exchange under consideration would leave them. */
struct pair {
    workload heavy_work, light_work;
    uint64_t heavy_tokens, light_tokens;
};

static struct pair give(struct pair pair, const struct member *member)
{
    return (struct pair){ pair.heavy_work - member->work, pair.light_work + member->work,
                          pair.heavy_tokens - member->length, pair.light_tokens + member->length };
}

static struct pair take(struct pair pair, const struct member *member)
{
    return (struct pair){ pair.heavy_work + member->work, pair.light_work - member->work,
                          pair.heavy_tokens + member->length, pair.light_tokens - member->length };
}

static workload highest(struct pair pair)
{
    return pair.heavy_work > pair.light_work ? pair.heavy_work : pair.light_work;
}

/* Tries one long piece: takes short ones until the light one holds it and is not the heavier. */
static void try_member(uint32_t cap, struct pair pair, const struct members *heavy, size_t given,
                       const struct members *light, struct exchange *best)
{
    pair = give(pair, &heavy->list[given]);
    for (size_t taken = 0;; taken++) {
        if (pair.heavy_tokens > cap)
            return;
        if (pair.light_tokens <= cap && highest(pair) < best->highest)
            *best = (struct exchange){ given, taken, highest(pair) };
        bool done = pair.light_tokens <= cap && pair.light_work <= pair.heavy_work;
        if (done || taken == light->count)
            return;
        pair = take(pair, &light->list[taken]);
    }
}

static int move(struct refine *refine, struct placed *placed, struct member member, uint32_t to,
                struct error *err)
{
    uint32_t from = placed->groups[member.piece];
    placed->work[from] -= member.work;
    placed->tokens[from] -= member.length;
    placed->work[to] += member.work;
    placed->tokens[to] += member.length;
    placed->groups[member.piece] = to;
    return add_member(&refine->members[to], member, err);
}

static int carry_out(struct refine *refine, struct placed *placed, uint32_t heavy, uint32_t light,
                     struct exchange exchange, struct error *err)
{
    struct members *from = &refine->members[heavy], *to = &refine->members[light];
    struct member given = from->list[exchange.given];
    drop_members(from, exchange.given, 1);
    int status = 0;
    for (size_t i = 0; i < exchange.taken && status == 0; i++)
        status = move(refine, placed, to->list[i], heavy, err);
    drop_members(to, 0, exchange.taken);
    return status ? status : move(refine, placed, given, light, err);
}

/* Makes the best exchange between the two, if it lowers the heavy one; *ret_done tells. */
static int exchange(struct refine *refine, struct placed *placed, uint32_t heavy, uint32_t light,
                    bool *ret_done, struct error *err)
{
    const struct members *from = &refine->members[heavy], *to = &refine->members[light];
    struct pair pair = { placed->work[heavy], placed->work[light], placed->tokens[heavy],
                         placed->tokens[light] };
    struct exchange best = { .highest = pair.heavy_work };
    for (size_t i = 0; i < from->count; i++)
        try_member(placed->shape->max_tokens, pair, from, i, to, &best);
    *ret_done = best.highest < pair.heavy_work;
    return *ret_done ? carry_out(refine, placed, heavy, light, best, err) : 0;
}

/* One round: the heaviest with the lightest, or the next ones; *ret_done: something was gained. */
static int improve(struct refine *refine, struct placed *placed, bool *ret_done, struct error *err)
{
    uint32_t n = placed->shape->microbatches, heavy = heaviest(placed);
    *ret_done = false;
    if (close_to_mean(placed, placed->work[heavy]))
        return 0;
    int status = 0;
    for (uint32_t light = next_lightest(placed, n); light != heavy && status == 0 && !*ret_done;
         light = next_lightest(placed, light))
        status = exchange(refine, placed, heavy, light, ret_done, err);
    return status;
}

/* ---- what stays behind ---- */

static bool may_stay(const struct placed *placed, const struct member *member)
{
    return member->length < placed->leeway.small_tokens && member->piece >= placed->leeway.urgent;
}

/* That of the lightest micro-batch but `idle`, unless others hold more that must go. */
static workload level_to_keep(const struct refine *refine, const struct placed *placed)
{
    uint32_t n = placed->shape->microbatches, light = n;
    for (uint32_t i = 0; i <= placed->leeway.idle; i++)
        light = next_lightest(placed, light);
    workload level = placed->work[light];
    for (uint32_t m = 0; m < n; m++) {
        const struct members *members = &refine->members[m];
        workload held = 0;
        for (size_t i = 0; i < members->count; i++)
            held += may_stay(placed, &members->list[i]) ? 0 : members->list[i].work;
        level = held > level ? held : level;
    }
    return level;
}

/* Leaves behind what stands above the level, longest first. */
static void lower(struct refine *refine, struct placed *placed, uint32_t m, workload level)
{
    struct members *members = &refine->members[m];
    for (size_t i = members->count; i-- > 0;) {
        const struct member *member = &members->list[i];
        if (!may_stay(placed, member) || member->work + level > placed->work[m])
            continue;
        placed->work[m] -= member->work;
        placed->tokens[m] -= member->length;
        placed->groups[member->piece] = GROUP_NONE;
    }
    size_t kept = 0;
    for (size_t i = 0; i < members->count; i++)
        if (placed->groups[members->list[i].piece] == m)
            members->list[kept++] = members->list[i];
    members->count = kept;
}

static void leave_behind(struct refine *refine, struct placed *placed)
{
    uint32_t n = placed->shape->microbatches;
    if (placed->leeway.small_tokens == 0 || placed->leeway.idle >= n)
        return;
    workload level = level_to_keep(refine, placed);
    for (uint32_t m = 0; m < n; m++)
        lower(refine, placed, m, level);
}

int refine_placed(struct refine *refine, struct placed *placed, struct error *err)
{
    if (placed->shape->microbatches < 2 || close_to_mean(placed, placed->work[heaviest(placed)]))
        return 0;
    int status = list_members(refine, placed, err);
    if (status == 0)
        leave_behind(refine, placed);
    bool gained = true;
    uint32_t most = MOST_EXCHANGES * placed->shape->microbatches;
    for (uint32_t i = 0; i < most && gained && status == 0; i++)
        status = improve(refine, placed, &gained, err);
    return status;
}
