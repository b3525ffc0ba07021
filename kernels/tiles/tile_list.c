#include "kernels/tiles/tile_list.h"

#include <stdlib.h>

/* Where the walk over the pieces is: the piece's chunks of rows and of keys, and their rows. */
struct place {
    const struct tile_chunk *chunks, *key_chunks;
    size_t chunk_count, key_chunk_count;
    uint32_t first_row, rows;
    uint32_t first_key, keys;
};

/* Chunks of `piece` at the head of those that are left, and their tokens. */
static size_t chunks_of(uint32_t piece, const struct tile_chunk *chunks, size_t left,
                        uint32_t *ret_tokens)
{
    size_t count = 0;
    uint32_t tokens = 0;
    for (; count < left && chunks[count].piece == piece; count++)
        tokens += chunks[count].length;
    *ret_tokens = tokens;
    return count;
}

/* From the piece before to `piece`; begins with an empty place. */
static void enter_piece(const struct tile_plan *plan, uint32_t piece, struct place *place)
{
    const struct tile_chunk *end = plan->chunks + plan->chunk_count;
    place->chunks += place->chunk_count;
    place->first_row += place->rows;
    place->chunk_count =
        chunks_of(piece, place->chunks, (size_t)(end - place->chunks), &place->rows);
    place->first_key += place->keys;
    if (plan->key_chunks) {
        end = plan->key_chunks + plan->key_chunk_count;
        place->key_chunks += place->key_chunk_count;
        place->key_chunk_count =
            chunks_of(piece, place->key_chunks, (size_t)(end - place->key_chunks), &place->keys);
    } else {
        place->keys = plan->piece_starts[piece + 1] - plan->piece_starts[piece];
    }
}

/* Where among the key chunks of a piece the rows have come: chunk, and keys before it. */
struct key_cursor {
    size_t chunk;
    uint32_t before;
};

/* Keys up to `position`; called with growing positions. */
static uint32_t keys_up_to(const struct place *place, uint32_t position, struct key_cursor *cursor)
{
    const struct tile_chunk *keys = place->key_chunks + cursor->chunk;
    for (; cursor->chunk < place->key_chunk_count && keys->start + keys->length <= position;
         keys++) {
        cursor->before += keys->length;
        cursor->chunk++;
    }
    if (cursor->chunk == place->key_chunk_count || keys->start > position)
        return cursor->before;
    return cursor->before + position - keys->start + 1;
}

/* How many keys of the piece each of its rows sees: rows and keys are met in order of position. */
static void see_keys(const struct tile_plan *plan, const struct place *place,
                     struct tile_list *list)
{
    uint32_t *visible = list->visible + place->first_row;
    struct key_cursor cursor = { 0 };
    for (size_t c = 0; c < place->chunk_count; c++) {
        const struct tile_chunk *chunk = &place->chunks[c];
        for (uint32_t i = 0; i < chunk->length; i++) {
            uint32_t position = chunk->start + i;
            *visible++ = plan->key_chunks ? keys_up_to(place, position, &cursor) : position + 1;
        }
    }
}

static void list_query_tiles(const struct tile_plan *plan, const struct place *place,
                             struct tile_list *list)
{
    struct tile_walk walk = tile_walk_begin(place->chunks, place->chunk_count, plan->shape.tokens);
    uint32_t first = place->first_row, rows, last;
    for (; tile_next(&walk, &rows, &last); first += rows)
        list->query_tiles[list->query_tile_count++] =
            (struct query_tile){ first, rows, place->first_key, list->visible[first + rows - 1] };
}

static void list_key_tiles(const struct tile_plan *plan, const struct place *place,
                           struct tile_list *list)
{
    uint32_t row = place->first_row, end = place->first_row + place->rows;
    for (uint32_t offset = 0; offset < place->keys; offset += plan->key_tile_keys) {
        uint32_t left = place->keys - offset;
        while (row < end && list->visible[row] <= offset)
            row++;
        list->key_tiles[list->key_tile_count++] =
            (struct key_tile){ place->first_key + offset,
                               left < plan->key_tile_keys ? left : plan->key_tile_keys, offset, row,
                               end - row };
    }
}

static void list_padding(const struct tile_plan *plan, struct tile_list *list)
{
    for (uint32_t row = list->rows; row < plan->padded_rows;) {
        uint32_t left = plan->padded_rows - row;
        uint32_t rows = left < plan->shape.tokens ? left : plan->shape.tokens;
        list->query_tiles[list->query_tile_count++] = (struct query_tile){ row, rows, 0, 0 };
        row += rows;
    }
}

static void count_pairs(const struct tile_plan *plan, struct tile_list *list)
{
    struct tile_shape bare = { plan->shape.tokens, plan->shape.columns, 0 };
    for (uint32_t t = 0; t < list->query_tile_count; t++)
        list->tile_pairs += tile_cost(&bare, list->query_tiles[t].visible);
    for (uint32_t row = 0; row < list->rows; row++)
        list->pairs += list->visible[row];
}

static int descending(uint32_t a, uint32_t b)
{
    return (a < b) - (a > b);
}

static int by_visible(const void *left, const void *right)
{
    const struct query_tile *a = left, *b = right;
    int order = descending(a->visible, b->visible);
    return order ? order : descending(b->first_row, a->first_row);
}

static int by_rows(const void *left, const void *right)
{
    const struct key_tile *a = left, *b = right;
    int order = descending(a->rows, b->rows);
    return order ? order : descending(b->first_key, a->first_key);
}

static uint64_t tokens_of(const struct tile_chunk *chunks, uint32_t count)
{
    uint64_t tokens = 0;
    for (uint32_t c = 0; c < count; c++)
        tokens += chunks[c].length;
    return tokens;
}

/* A piece adds one partly filled tile at most, and so does padding. */
static bool allocate(const struct tile_plan *plan, struct tile_list *list)
{
    uint64_t keys = plan->key_chunks ? tokens_of(plan->key_chunks, plan->key_chunk_count)
                                     : plan->piece_starts[plan->pieces];
    size_t query_tiles = plan->padded_rows / plan->shape.tokens + (size_t)plan->pieces + 1;
    size_t key_tiles = (size_t)(keys / plan->key_tile_keys) + (size_t)plan->pieces;
    list->visible = calloc((size_t)plan->padded_rows + 1, sizeof *list->visible);
    list->query_tiles = calloc(query_tiles, sizeof *list->query_tiles);
    list->key_tiles = calloc(key_tiles + 1, sizeof *list->key_tiles);
    return list->visible && list->query_tiles && list->key_tiles;
}

bool tile_list_build(const struct tile_plan *plan, struct tile_list *list)
{
    if (!allocate(plan, list))
        return false;
    struct place place = { .chunks = plan->chunks, .key_chunks = plan->key_chunks };
    for (uint32_t piece = 0; piece < plan->pieces; piece++) {
        enter_piece(plan, piece, &place);
        see_keys(plan, &place, list);
        list_query_tiles(plan, &place, list);
        list_key_tiles(plan, &place, list);
    }
    list->rows = place.first_row + place.rows;
    list->key_rows = place.first_key + place.keys;
    list_padding(plan, list);
    count_pairs(plan, list);
    qsort(list->query_tiles, list->query_tile_count, sizeof *list->query_tiles, by_visible);
    qsort(list->key_tiles, list->key_tile_count, sizeof *list->key_tiles, by_rows);
    return true;
}

void tile_list_fini(struct tile_list *list)
{
    free(list->visible);
    free(list->query_tiles);
    free(list->key_tiles);
    *list = (struct tile_list){ 0 };
}
