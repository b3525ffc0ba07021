#include "pack/window_exchange.h"

#include <stdlib.h>

#include "base/grow.h"

#define MOST_MEMBERS 40u /* pieces of a bin that are looked at, evenly over its lengths */
#define MOST_BUNDLES (1 + MOST_MEMBERS + MOST_MEMBERS * (MOST_MEMBERS - 1) / 2)
#define MOST_PARTNERS 64u /* bundles of the other bin that are tried for one of the heaviest */
#define MOST_ROUNDS 256u
#define LEAST_ROUNDS 16u
#define MOST_VISITS 8192u  /* of bins, in all rounds together */
#define LEAST_GAIN 100000u /* an exchange has to win 1 / 100000 */

struct window_bundle {
    uint64_t work;
    uint32_t tokens;
    uint32_t pieces[2]; /* GROUP_NONE for none */
};

/* An exchange of `given`, from the heaviest bin, for `taken`. */
struct deal {
    struct window_bundle given, taken;
    uint32_t bin;   /* where `taken` comes from */
    uint64_t worst; /* the larger work of both bins afterwards; a capped bin's does not count */
};

struct round {
    const struct window_problem *problem;
    const struct window_bin *bins;
    uint32_t top; /* the heaviest bin */
    struct deal best;
};

void window_exchange_fini(struct window_exchange *exchange)
{
    free(exchange->given);
    free(exchange->taken);
    free(exchange->members);
    *exchange = (struct window_exchange){ 0 };
}

/* The pieces of a bin, or as many of them evenly spread. */
static uint32_t list_members(const struct window_problem *problem, const uint32_t *groups,
                             uint32_t bin, uint32_t *members)
{
    size_t size = 0, seen = 0;
    for (size_t i = 0; i < problem->count; i++)
        size += groups[i] == bin;
    uint32_t stride = size ? (uint32_t)((size - 1) / MOST_MEMBERS + 1) : 1, count = 0;
    for (size_t i = 0; i < problem->count; i++)
        if (groups[i] == bin && seen++ % stride == 0)
            members[count++] = (uint32_t)i;
    return count;
}

static struct window_bundle bundle_of(const struct window_problem *problem, uint32_t first,
                                      uint32_t second)
{
    struct window_bundle bundle = { .pieces = { first, second } };
    for (unsigned i = 0; i < 2; i++)
        if (bundle.pieces[i] != GROUP_NONE) {
            uint64_t length = problem->pieces[bundle.pieces[i]].length;
            bundle.tokens += (uint32_t)length;
            bundle.work += length * length;
        }
    return bundle;
}

static int fewer_tokens(const void *left, const void *right)
{
    const struct window_bundle *a = left, *b = right;
    if (a->tokens != b->tokens)
        return a->tokens < b->tokens ? -1 : 1;
    if (a->pieces[0] != b->pieces[0])
        return a->pieces[0] < b->pieces[0] ? -1 : 1;
    return (a->pieces[1] > b->pieces[1]) - (a->pieces[1] < b->pieces[1]);
}

/* Nothing, each piece, each two pieces; in order of tokens. */
static uint32_t list_bundles(const struct window_problem *problem, const uint32_t *groups,
                             uint32_t bin, uint32_t *members, struct window_bundle *bundles)
{
    uint32_t members_count = list_members(problem, groups, bin, members), count = 0;
    bundles[count++] = bundle_of(problem, GROUP_NONE, GROUP_NONE);
    for (uint32_t i = 0; i < members_count; i++) {
        bundles[count++] = bundle_of(problem, members[i], GROUP_NONE);
        for (uint32_t j = i + 1; j < members_count; j++)
            bundles[count++] = bundle_of(problem, members[i], members[j]);
    }
    qsort(bundles, count, sizeof *bundles, fewer_tokens);
    return count;
}

/* Remembers the deal if caps allow it and it is the best so far; tokens fit. */
static void consider(struct round *round, const struct window_bundle *given, uint32_t bin,
                     const struct window_bundle *taken)
{
    if (given->work <= taken->work)
        return;
    uint64_t moved = given->work - taken->work, other = round->bins[bin].work + moved;
    uint64_t worst = round->bins[round->top].work - moved;
    if (bin < round->problem->capped) {
        if (other > round->problem->cap)
            return;
    } else if (other > worst) {
        worst = other;
    }
    if (worst < round->best.worst)
        round->best = (struct deal){ *given, *taken, bin, worst };
}

/* Both lists rise, and so does the first of `taken` for which the other bin has room. */
static void consider_bin(struct round *round, const struct window_bundle *given, uint32_t givens,
                         uint32_t bin, const struct window_bundle *taken, uint32_t takens)
{
    uint64_t room = round->problem->room;
    uint64_t top_spare = room - round->bins[round->top].tokens;
    uint64_t spare = room - round->bins[bin].tokens;
    uint32_t first = 0;
    for (uint32_t g = 0; g < givens; g++) {
        while (first < takens && taken[first].tokens + spare < given[g].tokens)
            first++;
        for (uint32_t t = first; t < takens && t < first + MOST_PARTNERS &&
                                 taken[t].tokens <= given[g].tokens + top_spare;
             t++)
            consider(round, &given[g], bin, &taken[t]);
    }
}

static void move(uint32_t *groups, const struct window_bundle *bundle, uint32_t bin)
{
    for (unsigned i = 0; i < 2; i++)
        if (bundle->pieces[i] != GROUP_NONE)
            groups[bundle->pieces[i]] = bin;
}

static void apply(const struct round *round, struct window_bin *bins, uint32_t *groups)
{
    const struct deal *deal = &round->best;
    struct window_bin *from = &bins[round->top], *to = &bins[deal->bin];
    move(groups, &deal->given, deal->bin);
    move(groups, &deal->taken, round->top);
    from->work += deal->taken.work - deal->given.work;
    from->tokens += deal->taken.tokens - deal->given.tokens;
    to->work += deal->given.work - deal->taken.work;
    to->tokens += deal->given.tokens - deal->taken.tokens;
}

static uint32_t heaviest(const struct window_problem *problem, const struct window_bin *bins)
{
    uint32_t most = problem->capped;
    for (uint32_t b = most + 1; b < problem->bins; b++)
        if (bins[b].work > bins[most].work)
            most = b;
    return most;
}

/* Looks for the best deal of the heaviest bin with any other, and makes it. False: there is none.
 */
static bool run_round(struct window_exchange *exchange, const struct window_problem *problem,
                      struct window_bin *bins, uint32_t *groups)
{
    struct round round = { .problem = problem, .bins = bins, .top = heaviest(problem, bins) };
    uint64_t work = bins[round.top].work, enough = work - work / LEAST_GAIN;
    round.best.worst = enough;
    uint32_t givens = list_bundles(problem, groups, round.top, exchange->members, exchange->given);
    for (uint32_t b = 0; b < problem->bins; b++) {
        if (b == round.top)
            continue;
        uint32_t takens = list_bundles(problem, groups, b, exchange->members, exchange->taken);
        consider_bin(&round, exchange->given, givens, b, exchange->taken, takens);
    }
    if (round.best.worst == enough)
        return false;
    apply(&round, bins, groups);
    return true;
}

int window_exchange_run(struct window_exchange *exchange, const struct window_problem *problem,
                        struct window_bin *bins, uint32_t *groups, struct error *err)
{
    if (problem->capped >= problem->bins)
        return 0;
    if (!grow(exchange->given, &exchange->given_capacity, MOST_BUNDLES) ||
        !grow(exchange->taken, &exchange->taken_capacity, MOST_BUNDLES) ||
        !grow(exchange->members, &exchange->member_capacity, MOST_MEMBERS))
        return error_memory(err, "packing");
    uint32_t rounds = MOST_VISITS / problem->bins;
    rounds = rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds;
    while (rounds-- > 0 && run_round(exchange, problem, bins, groups))
        ;
    return 0;
}
