#include "pack/least.h"

#include <stdlib.h>
#include <string.h>

bool least_init(struct least *least, uint32_t count)
{
    uint32_t leaves = 1;
    while (leaves < count)
        leaves *= 2;
    *least = (struct least){ .leaves = leaves };
    least->keys = malloc(leaves * sizeof *least->keys);
    least->winners = malloc(leaves * sizeof *least->winners);
    if (!least->keys || !least->winners) {
        least_fini(least);
        return false;
    }
    least_reset(least, count);
    return true;
}

void least_fini(struct least *least)
{
    free(least->keys);
    free(least->winners);
    *least = (struct least){ 0 };
}

/* The winner below node `node` of the implicit tree; nodes from `leaves` on are the keys. */
static uint32_t winner(const struct least *least, uint32_t node)
{
    return node >= least->leaves ? node - least->leaves : least->winners[node];
}

static void play(struct least *least, uint32_t node)
{
    uint32_t left = winner(least, 2 * node), right = winner(least, 2 * node + 1);
    least->winners[node] = least->keys[right] < least->keys[left] ? right : left;
}

void least_reset(struct least *least, uint32_t count)
{
    memset(least->keys, 0, count * sizeof *least->keys);
    for (uint32_t i = count; i < least->leaves; i++)
        least->keys[i] = UINT64_MAX;
    for (uint32_t node = least->leaves; node-- > 1;)
        play(least, node);
}

void least_set(struct least *least, uint32_t index, uint64_t key)
{
    least->keys[index] = key;
    for (uint32_t node = (least->leaves + index) / 2; node > 0; node /= 2)
        play(least, node);
}
