/* Arrays that grow by doubling, so that steady state allocates nothing. */
#ifndef BALLAST_BASE_GROW_H
#define BALLAST_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes room for at least `wanted` items of `item_bytes` in the array whose pointer variable lies
 * at `array_address` and whose present room is *capacity. On failure (memory, overflow) returns
 * false and leaves both as they were.
 */
bool grow_bytes(void *array_address, size_t *capacity, size_t wanted, size_t item_bytes);

/* grow(pieces, &capacity, count + 1): `array` is a pointer variable of any object type. */
#define grow(array, capacity, wanted)                                                              \
    ((wanted) <= *(capacity) || grow_bytes(&(array), (capacity), (wanted), sizeof *(array)))

#endif
