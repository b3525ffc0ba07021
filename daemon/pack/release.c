#include "pack/release.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/wide.h"

/* A length is tried as the longest one only if it is 1/16 shorter than the last one tried. */
#define LEVEL_SPACING 16

/* An outlier that has just arrived has waited a fifth of a step: a tie-break towards release. */
#define FRESH_AGE (RELEASE_UNIT / 5)

/* balance 1 prices waste at 2^8 - 1 token-steps a token. */
#define PRICE_DOUBLINGS 8

/* 2^(8 x balance) - 1 with straight lines between powers of two: exact on every machine. */
static uint64_t price_of(uint32_t balance)
{
    uint32_t exponent = PRICE_DOUBLINGS * balance;
    uint64_t power = UINT64_C(1) << (exponent / RELEASE_BALANCE);
    uint64_t scaled = power * RELEASE_UNIT +
                      power * RELEASE_UNIT * (exponent % RELEASE_BALANCE) / RELEASE_BALANCE;
    return scaled - RELEASE_UNIT;
}

/* So many waste at the price what waiting costs the others. For pipelines no small piece waits. */
static uint32_t idle_of(uint32_t bins, uint32_t size, uint64_t price)
{
    return size > 1 ? bins : (uint32_t)((uint64_t)bins * RELEASE_UNIT / (RELEASE_UNIT + price));
}

int release_init(struct release *release, const struct pack_shape *shape, uint32_t balance,
                 struct error *err)
{
    uint32_t bins = shape->replicas ? shape->replicas : shape->microbatches;
    uint32_t size = shape->microbatches / bins;
    *release = (struct release){ .shape = *shape,
                                 .price = price_of(balance),
                                 .bins = bins,
                                 .size = size,
                                 .idle = idle_of(bins, size, price_of(balance)),
                                 .bin_tokens = (uint64_t)size * shape->max_tokens };
    release->tokens = calloc(bins, sizeof *release->tokens);
    if (!release->tokens || !least_init(&release->work, bins)) {
        release_fini(release);
        return error_memory(err, "opening the packer");
    }
    return 0;
}

void release_fini(struct release *release)
{
    least_fini(&release->work);
    free(release->tokens);
    free(release->choices);
    *release = (struct release){ 0 };
}

static int64_t waiting_of(const struct outlier *outlier, uint32_t step)
{
    return (int64_t)outlier->length *
           ((int64_t)(step - outlier->arrived) * RELEASE_UNIT + FRESH_AGE);
}

static void put(struct release *release, uint32_t bin, const struct outlier *outlier)
{
    least_add(&release->work, bin, outlier->work);
    release->tokens[bin] += outlier->length;
}

/* Empty bins but for what is forced; returns its work. */
static workload begin(struct release *release)
{
    workload work = 0;
    uint32_t n = release->bins;
    least_reset(&release->work, n);
    memset(release->tokens, 0, n * sizeof *release->tokens);
    for (size_t i = 0; i < release->forced_count; i++) {
        const struct outlier *outlier = &release->forced[i];
        uint32_t m = least_index(&release->work);
        if (release->tokens[m] + outlier->length <= release->bin_tokens)
            put(release, m, outlier);
        work += outlier->work;
    }
    return work;
}

/*
 * Fills the bins with pool[first ..] under `level`, each into the one of least work.
 * Calls `placed` for each that goes.
 */
static void fill(struct release *release, const struct outlier *pool, size_t count, size_t first,
                 workload level, void (*placed)(void *context, size_t index), void *context)
{
    for (size_t i = first; i < count; i++) {
        uint32_t m = least_index(&release->work);
        workload work = least_key(&release->work, m);
        if (work + pool[count - 1].work > level)
            return; /* not even the shortest fits any more */
        if (work + pool[i].work > level ||
            release->tokens[m] + pool[i].length > release->bin_tokens)
            continue;
        put(release, m, &pool[i]);
        placed(context, i);
    }
}

/* The liquid that goes in below `level`; each bin takes what its tokens leave room for. */
static workload pour(const struct release *release, workload level, workload density)
{
    workload poured = 0;
    for (uint32_t m = 0; m < release->bins; m++) {
        workload work = least_key(&release->work, m);
        workload room = (workload)(release->bin_tokens - release->tokens[m]) * density;
        if (level > work)
            poured += level - work < room ? level - work : room;
    }
    return poured;
}

/* The highest level that any bin can reach with liquid. */
static workload highest(const struct release *release, workload density)
{
    workload most = 0;
    for (uint32_t m = 0; m < release->bins; m++) {
        workload room = (workload)(release->bin_tokens - release->tokens[m]) * density;
        workload reach = least_key(&release->work, m) + room;
        most = reach > most ? reach : most;
    }
    return most;
}

static workload heaviest(const struct release *release)
{
    workload most = 0;
    for (uint32_t m = 0; m < release->bins; m++) {
        workload work = least_key(&release->work, m);
        most = work > most ? work : most;
    }
    return most;
}

/* Is so much poured below `level`, or are too many bins full of tokens there? */
static bool high_enough(const struct release *release, workload level, workload density,
                        workload volume)
{
    uint32_t full = 0;
    for (uint32_t m = 0; m < release->bins; m++) {
        workload room = (workload)(release->bin_tokens - release->tokens[m]) * density;
        full += least_key(&release->work, m) + room < level;
    }
    return full > release->idle || pour(release, level, density) + release->bins >= volume;
}

/* The level that the liquid rises to, and what of it waits. */
static workload liquid_level(const struct release *release, struct liquid liquid, workload outliers,
                             struct liquid *ret_left)
{
    workload density = liquid.tokens ? liquid.work / liquid.tokens : 0;
    workload volume = density * liquid.tokens;
    workload low = heaviest(release), high = highest(release, density);
    workload mean = (outliers + volume) / release->bins;
    *ret_left = (struct liquid){ 0 };
    if (mean > low && pour(release, mean, density) + release->bins >= volume)
        return mean; /* no bin is short of tokens */
    if (high < low || high_enough(release, low, density, volume))
        high = low;
    while (high - low > low / 4096 + 1) {
        workload middle = low + (high - low) / 2;
        if (high_enough(release, middle, density, volume))
            high = middle;
        else
            low = middle;
    }
    workload poured = pour(release, high, density);
    if (poured + release->bins < volume)
        *ret_left = (struct liquid){ volume - poured, (volume - poured) / density };
    return high;
}

/* Price of wasted work: of as many tokens as it would be linear work of. */
static int64_t price(const struct release *release, wide waste)
{
    workload token = cost_linear(&release->shape.cost, 1);
    wide cost = waste * release->price / (token ? token : 1);
    return cost > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)cost;
}

/* What filling the micro-batches comes to. */
struct filling {
    const struct outlier *pool;
    uint32_t step;
    workload work;
    int64_t waiting; /* that ends */
    size_t placed;
};

static void add_up(void *context, size_t index)
{
    struct filling *filling = context;
    filling->work += filling->pool[index].work;
    filling->waiting += waiting_of(&filling->pool[index], filling->step);
    filling->placed++;
}

static uint64_t counted_tokens(const struct release *release, struct liquid liquid)
{
    uint64_t batch = (uint64_t)release->shape.window * release->shape.microbatches;
    uint64_t least = (batch + RELEASE_LEAST - 1) / RELEASE_LEAST, tokens = liquid.tokens;
    for (uint32_t m = 0; m < release->bins; m++)
        tokens += release->tokens[m];
    return tokens < least ? tokens : least;
}

/* The longest outlier of a choice: of what is forced and what is chosen. */
static workload longest_of(const struct release *release, const struct outlier *pool, size_t count,
                           size_t first)
{
    workload forced = release->forced_count ? release->forced[0].work : 0;
    workload chosen = first < count ? pool[first].work : 0;
    return chosen > forced ? chosen : forced;
}

/* What a bin may hold of outliers: a micro-batch as much as the longest of them, or as the liquid
 * sets anyway; a replica its share of all. */
static workload level_of(const struct release *release, const struct outlier *pool, size_t count,
                         size_t first, struct liquid liquid, workload forced)
{
    wide all = (wide)liquid.work + forced;
    for (size_t i = first; i < count && release->size > 1; i++)
        all += pool[i].work;
    workload share = (workload)(all / release->bins),
             longest = longest_of(release, pool, count, first);
    workload held = heaviest(release);
    share = held > share ? held : share;
    return longest > share ? longest : share;
}

/*
 * Work that the hardware could have done in a step as long as that: what bins stay below the level
 * reached, and, in a pipeline, what the largest micro-batch is over the mean for all stages but
 * one.
 */
static wide waste_of(const struct release *release, workload reached, wide used, workload longest)
{
    wide whole = (wide)reached * release->bins, waste = whole > used ? whole - used : 0;
    uint32_t waits = release->size > 1 ? release->shape.stages - 1 : 0;
    workload mean = reached / release->size;
    if (waits && longest > mean)
        waste += (wide)(longest - mean) * release->bins * waits;
    return waste * release->size / (release->size + waits);
}

/* Weighs one choice, with `all` whatever its level; *ret_left_out: outliers above the level. */
static struct choice weigh(struct release *release, const struct outlier *pool, size_t count,
                           size_t first, bool all, struct liquid liquid, uint32_t step,
                           size_t *ret_left_out)
{
    workload forced = begin(release);
    struct filling filling = { .pool = pool, .step = step, .work = forced };
    workload level = all ? UINT64_MAX : level_of(release, pool, count, first, liquid, forced);
    fill(release, pool, count, first, level, add_up, &filling);
    struct liquid left;
    workload reached = liquid_level(release, liquid, filling.work, &left);
    wide used = (wide)filling.work + liquid.work - left.work;
    wide waste = waste_of(release, reached, used, longest_of(release, pool, count, first));
    int64_t cost = price(release, waste) + (int64_t)left.tokens * RELEASE_UNIT;
    *ret_left_out = count - first - filling.placed;
    return (struct choice){ .first = first,
                            .level = level,
                            .left = left,
                            .cost = cost,
                            .value = filling.waiting - cost,
                            .tokens = counted_tokens(release, liquid) };
}

bool choice_better(const struct choice *a, const struct choice *b)
{
    return a->tokens != b->tokens ? a->tokens > b->tokens : a->value > b->value;
}

static void add_choice(struct release *release, const struct choice *choice, size_t *best)
{
    release->choices[release->choice_count++] = *choice;
    if (choice_better(choice, &release->choices[*best]))
        *best = release->choice_count - 1;
}

/* Would outliers of that much work, with the liquid, stand above the longest of them? */
static bool pile_up(const struct release *release, wide outliers, struct liquid liquid,
                    workload longest)
{
    return (outliers + liquid.work) / release->bins > longest;
}

int release_consider(struct release *release, const struct outlier *pool, size_t count,
                     struct liquid liquid, uint32_t step, size_t *ret_best, struct error *err)
{
    if (!grow(release->choices, &release->choice_capacity, 2 * (count + 1)))
        return error_memory(err, "packing");
    size_t best = 0, left_out;
    uint32_t tried = UINT32_MAX;
    wide rest = 0;
    for (size_t i = 0; i < count; i++)
        rest += pool[i].work;
    release->choice_count = 0;
    for (size_t first = 0; first <= count; first++) {
        wide from_here = rest;
        rest -= first < count ? pool[first].work : 0;
        if (first > 0 && first < count && pool[first].length > tried - tried / LEVEL_SPACING)
            continue;
        if (first < count)
            tried = pool[first].length;
        struct choice choice = weigh(release, pool, count, first, false, liquid, step, &left_out);
        add_choice(release, &choice, &best);
        if (left_out && (first == 0 || pile_up(release, from_here, liquid, pool[first].work))) {
            choice = weigh(release, pool, count, first, true, liquid, step, &left_out);
            add_choice(release, &choice, &best);
        }
    }
    *ret_best = best;
    return 0;
}

static void mark(void *context, size_t index)
{
    bool *take = context;
    take[index] = true;
}

void release_take(struct release *release, const struct outlier *pool, size_t count,
                  const struct choice *choice, bool *take)
{
    if (count)
        memset(take, 0, count * sizeof *take);
    begin(release);
    fill(release, pool, count, choice->first, choice->level, mark, take);
}
