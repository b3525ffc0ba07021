/*
 * A keyed permutation of 0..count-1 in O(1) memory: how a source is shuffled (DESIGN section 3).
 * Random access: the k-th element costs the same whatever k is, so a stream can start anywhere.
 */
#ifndef BALLAST_BASE_PERMUTATION_H
#define BALLAST_BASE_PERMUTATION_H

#include <stdint.h>

#define PERMUTATION_ROUNDS 6

struct permutation {
    uint64_t count;
    unsigned left_bits, right_bits; /* the Feistel halves; 2^(left + right) is under 2 x count */
    uint64_t keys[PERMUTATION_ROUNDS];
};

/* The permutation of 0..count-1 that `key` selects; count may be 0 or 1. */
void permutation_init(struct permutation *permutation, uint64_t count, uint64_t key);

/* Where position `index` (< count) goes. */
uint64_t permutation_at(const struct permutation *permutation, uint64_t index);

/* The position that goes to `value` (< count): permutation_at the other way round. */
uint64_t permutation_index(const struct permutation *permutation, uint64_t value);

/* A well-mixed 64-bit value of two: how keys are derived from seed, source and epoch. */
uint64_t mix_keys(uint64_t a, uint64_t b);

#endif
