#include "base/permutation.h"

/* The finaliser of splitmix64: every output bit depends on every input bit. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t mix_keys(uint64_t a, uint64_t b)
{
    return mix(mix(a + 0x9e3779b97f4a7c15u) ^ (b * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u));
}

void permutation_init(struct permutation *permutation, uint64_t count, uint64_t key)
{
    unsigned bits = 2;
    while (bits < 64 && count > UINT64_C(1) << bits)
        bits++;
    permutation->count = count;
    permutation->left_bits = bits / 2;
    permutation->right_bits = bits - bits / 2;
    for (unsigned r = 0; r < PERMUTATION_ROUNDS; r++)
        permutation->keys[r] = mix_keys(key, r);
}

/* One pass over the Feistel network: a permutation of 0..2^(left + right)-1. */
static uint64_t scramble(const struct permutation *permutation, uint64_t x)
{
    unsigned left_bits = permutation->left_bits, right_bits = permutation->right_bits;
    uint64_t left_mask = (UINT64_C(1) << left_bits) - 1;
    uint64_t right_mask = (UINT64_C(1) << right_bits) - 1;
    uint64_t left = x >> right_bits, right = x & right_mask;
    for (unsigned r = 0; r < PERMUTATION_ROUNDS; r += 2) {
        left ^= mix(right + permutation->keys[r]) & left_mask;
        right ^= mix(left + permutation->keys[r + 1]) & right_mask;
    }
    return left << right_bits | right;
}

uint64_t permutation_at(const struct permutation *permutation, uint64_t index)
{
    /* Cycle walking: leave the power of two until the value falls below count again. */
    do
        index = scramble(permutation, index);
    while (index >= permutation->count);
    return index;
}

static uint64_t unscramble(const struct permutation *permutation, uint64_t x)
{
    unsigned left_bits = permutation->left_bits, right_bits = permutation->right_bits;
    uint64_t left_mask = (UINT64_C(1) << left_bits) - 1;
    uint64_t right_mask = (UINT64_C(1) << right_bits) - 1;
    uint64_t left = x >> right_bits, right = x & right_mask;
    for (unsigned r = PERMUTATION_ROUNDS; r > 0; r -= 2) {
        right ^= mix(left + permutation->keys[r - 1]) & right_mask;
        left ^= mix(right + permutation->keys[r - 2]) & left_mask;
    }
    return left << right_bits | right;
}

uint64_t permutation_index(const struct permutation *permutation, uint64_t value)
{
    do
        value = unscramble(permutation, value);
    while (value >= permutation->count);
    return value;
}
