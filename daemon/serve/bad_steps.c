#include "serve/bad_steps.h"

#include <stddef.h>

#include "corpus/corpus.h"

bool bad_steps_counts(const struct error *error)
{
    return shard_is_bad(error->code);
}

struct bad_step *bad_steps_find(struct bad_steps *bad, uint64_t step)
{
    for (unsigned i = 0; i < BAD_STEPS_KNOWN; i++)
        if (bad->steps[i].known && bad->steps[i].key.step == step)
            return &bad->steps[i];
    return NULL;
}

static bool same_shard(struct bad_shard a, struct bad_shard b)
{
    return a.source == b.source && a.number == b.number;
}

static bool same_share(struct payload_key a, struct payload_key b)
{
    return a.step == b.step && a.microbatch == b.microbatch && a.rank == b.rank;
}

/* Where several shards are bad, each in a share of its own, one after the other is dealt with. */
bool bad_steps_add(struct bad_steps *bad, struct payload_key key, struct bad_shard shard,
                   const struct error *error)
{
    struct bad_step *step = bad_steps_find(bad, key.step);
    bool news = step == NULL;
    bool other = !news && !same_share(step->key, key) && !same_shard(step->shard, shard);
    if (news) {
        step = &bad->steps[bad->next];
        bad->next = (bad->next + 1) % BAD_STEPS_KNOWN;
        bad->found++;
    }
    bad->failures++;
    if (other)
        return false;
    bool again = !news && same_shard(step->shard, shard);
    *step = (struct bad_step){ .key = key,
                               .shard = shard,
                               .error = *error,
                               .known = true,
                               .again = again,
                               .refused = again && step->refused,
                               .not_before_ms = again ? step->not_before_ms : 0 };
    return news;
}

void bad_steps_clear(struct bad_steps *bad, struct payload_key key)
{
    struct bad_step *step = bad_steps_find(bad, key.step);
    if (step && same_share(step->key, key))
        step->known = false;
}

void bad_steps_drop_from(struct bad_steps *bad, uint64_t step)
{
    for (unsigned i = 0; i < BAD_STEPS_KNOWN; i++)
        if (bad->steps[i].key.step >= step)
            bad->steps[i].known = false;
}

unsigned bad_steps_count(const struct bad_steps *bad)
{
    unsigned count = 0;
    for (unsigned i = 0; i < BAD_STEPS_KNOWN; i++)
        count += bad->steps[i].known;
    return count;
}
