/*
 * The inner loops over tokens: from the wire's 2 or 4 bytes to what a trainer takes. Compiled for
 * speed whatever the build type (CMakeLists.txt), no branch per token, sources of any alignment.
 */
#ifndef BALLAST_CLIENT_EXPAND_H
#define BALLAST_CLIENT_EXPAND_H

#include <stddef.h>
#include <stdint.h>

/* The largest of `count` tokens of `token_bytes` bytes each; 0 of none. */
uint32_t expand_largest(const unsigned char *from, size_t count, uint32_t token_bytes);

/*
 * Widens the count + 1 tokens of a chunk: tokens[i] = from[i], labels[i] = from[i + 1]. `count`
 * >= 1; ids fit int32_t.
 */
void expand_chunk(const unsigned char *from, size_t count, uint32_t token_bytes,
                  int32_t *restrict tokens, int32_t *restrict labels);

/* first, first + 1, ... */
void expand_positions(int32_t *positions, size_t count, uint32_t first);

void expand_fill(int32_t *to, size_t count, int32_t value);

#endif
