/* A growing list of pieces in order, with their tokens: the store that every policy is made of. */
#ifndef BALLAST_PACK_PIECES_H
#define BALLAST_PACK_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/piece.h"

struct pieces {
    struct piece *items;
    size_t head, count; /* the live ones are items[head .. head + count) */
    size_t capacity;
    uint64_t tokens; /* of the live ones */
};

void pieces_fini(struct pieces *pieces);

static inline struct piece *pieces_first(const struct pieces *pieces)
{
    return pieces->count ? pieces->items + pieces->head : pieces->items;
}

/* At the end; EX_OSERR when out of memory. Amortised O(1). */
int pieces_push(struct pieces *pieces, const struct piece *piece, struct error *err);

/* All of them at the end. */
int pieces_push_all(struct pieces *pieces, const struct piece *from, size_t count,
                    struct error *err);

/* Forgets the first `count` (at most as many as there are). */
void pieces_drop_first(struct pieces *pieces, size_t count);

void pieces_clear(struct pieces *pieces);

/*
 * Cuts `piece` after `tokens` (1 .. length - 1): it keeps the first part, the rest is returned.
 * Only the rest may end the document.
 */
struct piece piece_cut(struct piece *piece, uint32_t tokens);

#endif
