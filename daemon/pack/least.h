/* Which of N micro-batches has the least of something: a tournament over integer keys. */
#ifndef BALLAST_PACK_LEAST_H
#define BALLAST_PACK_LEAST_H

#include <stdbool.h>
#include <stdint.h>

struct least {
    uint32_t leaves;   /* a power of two, at least the count */
    uint64_t *keys;    /* [leaves]; those past the count are UINT64_MAX */
    uint32_t *winners; /* [leaves]; winners[1] is the overall one, ties go to the lower index */
};

/* All keys 0. False when out of memory. */
bool least_init(struct least *least, uint32_t count);
void least_fini(struct least *least);

/* All keys of the first `count` back to 0. */
void least_reset(struct least *least, uint32_t count);

static inline uint32_t least_index(const struct least *least)
{
    return least->leaves == 1 ? 0 : least->winners[1];
}

static inline uint64_t least_key(const struct least *least, uint32_t index)
{
    return least->keys[index];
}

/* Gives one key another value: O(log N). */
void least_set(struct least *least, uint32_t index, uint64_t key);

static inline void least_add(struct least *least, uint32_t index, uint64_t amount)
{
    least_set(least, index, least->keys[index] + amount);
}

#endif
