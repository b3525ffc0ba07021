#include "pack/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void pieces_fini(struct pieces *pieces)
{
    free(pieces->items);
    *pieces = (struct pieces){ 0 };
}

/* Moves the live pieces to the front once the dead ones outnumber them. */
static void close_gap(struct pieces *pieces)
{
    if (pieces->head == 0 || pieces->head < pieces->count)
        return;
    memmove(pieces->items, pieces_first(pieces), pieces->count * sizeof *pieces->items);
    pieces->head = 0;
}

int pieces_push_all(struct pieces *pieces, const struct piece *from, size_t count,
                    struct error *err)
{
    if (count == 0)
        return 0;
    close_gap(pieces);
    size_t end = pieces->head + pieces->count;
    if (!grow(pieces->items, &pieces->capacity, end + count))
        return error_memory(err, "packing");
    memcpy(pieces->items + end, from, count * sizeof *from);
    pieces->count += count;
    for (size_t i = 0; i < count; i++)
        pieces->tokens += from[i].length;
    return 0;
}

int pieces_push(struct pieces *pieces, const struct piece *piece, struct error *err)
{
    return pieces_push_all(pieces, piece, 1, err);
}

void pieces_drop_first(struct pieces *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pieces->tokens -= pieces_first(pieces)[i].length;
    pieces->head += count;
    pieces->count -= count;
    if (pieces->count == 0)
        pieces->head = 0;
}

void pieces_clear(struct pieces *pieces)
{
    pieces->head = pieces->count = 0;
    pieces->tokens = 0;
}

struct piece piece_cut(struct piece *piece, uint32_t tokens)
{
    struct piece rest = *piece;
    rest.offset += tokens;
    rest.length -= tokens;
    piece->length = tokens;
    piece->flags &= (uint16_t)~PIECE_ENDS_DOCUMENT;
    return rest;
}
