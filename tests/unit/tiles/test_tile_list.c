/* The tile list of random plans against its definition, row by row and key by key. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "kernels/tiles/tile_list.h"

enum { MAX_PIECES = 12, MAX_CHUNKS = 64, MAX_ROWS = 4096 };

struct sample {
    uint32_t starts[MAX_PIECES + 1];
    struct tile_chunk chunks[MAX_CHUNKS], key_chunks[MAX_CHUNKS];
    struct tile_plan plan;
    uint32_t piece[MAX_ROWS], position[MAX_ROWS], rows; /* of each query row */
    uint32_t key_piece[MAX_ROWS], key_position[MAX_ROWS], keys;
};

static uint32_t below(uint32_t limit)
{
    return (uint32_t)rand() % limit;
}

/* A few chunks with gaps between them, or the whole piece, or nothing of it. */
static uint32_t cut(uint32_t piece, uint32_t length, struct tile_chunk *chunks, uint32_t count)
{
    if (below(4) == 0)
        return count;
    for (uint32_t start = below(2) ? below(length) : 0; start < length;) {
        uint32_t rest = length - start, taken = below(3) ? 1 + below(rest) : rest;
        chunks[count++] = (struct tile_chunk){ piece, start, taken };
        start += taken + 1 + below(40);
        if (below(3) == 0 || count >= MAX_CHUNKS - MAX_PIECES)
            break;
    }
    return count;
}

static uint32_t spread(const struct tile_chunk *chunks, uint32_t count, uint32_t *piece,
                       uint32_t *position)
{
    uint32_t row = 0;
    for (uint32_t c = 0; c < count; c++)
        for (uint32_t i = 0; i < chunks[c].length; i++, row++) {
            piece[row] = chunks[c].piece;
            position[row] = chunks[c].start + i;
        }
    return row;
}

static void make(struct sample *s, unsigned seed)
{
    srand(seed);
    struct tile_plan *plan = &s->plan;
    *plan = (struct tile_plan){ .piece_starts = s->starts,
                                .chunks = s->chunks,
                                .pieces = below(MAX_PIECES + 1),
                                .shape = { 1 + below(64), 1 + below(64), 0 },
                                .key_tile_keys = 1 + below(64) };
    s->starts[0] = 0;
    for (uint32_t p = 0; p < plan->pieces; p++) {
        uint32_t length = 1 + below(below(2) ? 300 : 5);
        s->starts[p + 1] = s->starts[p] + length;
        plan->chunk_count = cut(p, length, s->chunks, plan->chunk_count);
        plan->key_chunk_count = cut(p, length, s->key_chunks, plan->key_chunk_count);
    }
    s->rows = spread(s->chunks, plan->chunk_count, s->piece, s->position);
    plan->padded_rows = s->rows + below(100);
    if (seed % 2) {
        plan->key_chunks = s->key_chunks;
        s->keys = spread(s->key_chunks, plan->key_chunk_count, s->key_piece, s->key_position);
        return;
    }
    s->keys = 0;
    for (uint32_t p = 0; p < plan->pieces; p++)
        for (uint32_t i = 0; i < s->starts[p + 1] - s->starts[p]; i++, s->keys++) {
            s->key_piece[s->keys] = p;
            s->key_position[s->keys] = i;
        }
}

static bool sees(const struct sample *s, uint32_t row, uint32_t key)
{
    return s->piece[row] == s->key_piece[key] && s->position[row] >= s->key_position[key];
}

/* The keys that the row sees are the `visible` first of its piece; returns where these begin. */
static uint32_t check_row(const struct sample *s, const struct tile_list *list, uint32_t row)
{
    uint32_t first = 0, count = 0;
    while (first < s->keys && s->key_piece[first] < s->piece[row])
        first++;
    for (uint32_t key = 0; key < s->keys; key++) {
        bool within = key >= first && key < first + list->visible[row];
        cr_assert_eq(sees(s, row, key), within, "row %u key %u", row, key);
        count += within;
    }
    cr_assert_eq(count, list->visible[row]);
    return first;
}

static void check_query_tiles(const struct sample *s, const struct tile_list *list)
{
    static unsigned char taken[MAX_ROWS];
    memset(taken, 0, sizeof taken);
    for (uint32_t t = 0; t < list->query_tile_count; t++) {
        const struct query_tile *tile = &list->query_tiles[t];
        cr_assert(tile->rows >= 1 && tile->rows <= s->plan.shape.tokens);
        cr_assert(t == 0 || tile->visible <= tile[-1].visible);
        for (uint32_t row = tile->first_row; row < tile->first_row + tile->rows; row++) {
            taken[row]++;
            if (row >= s->rows) {
                cr_assert_eq(tile->visible, 0);
                continue;
            }
            cr_assert_eq(s->piece[row], s->piece[tile->first_row]);
            cr_assert_eq(check_row(s, list, row), tile->first_key);
            cr_assert_leq(list->visible[row], tile->visible);
        }
    }
    for (uint32_t row = 0; row < s->plan.padded_rows; row++)
        cr_assert_eq(taken[row], 1, "row %u is in %u tiles", row, taken[row]);
}

static void check_key_tiles(const struct sample *s, const struct tile_list *list)
{
    static unsigned char taken[MAX_ROWS];
    memset(taken, 0, sizeof taken);
    for (uint32_t t = 0; t < list->key_tile_count; t++) {
        const struct key_tile *tile = &list->key_tiles[t];
        cr_assert(tile->keys >= 1 && tile->keys <= s->plan.key_tile_keys);
        cr_assert(t == 0 || tile->rows <= tile[-1].rows);
        uint32_t last = tile->first_key + tile->keys - 1;
        cr_assert_eq(s->key_piece[tile->first_key], s->key_piece[last]);
        for (uint32_t key = tile->first_key; key <= last; key++)
            taken[key]++;
        for (uint32_t row = 0; row < s->rows; row++) {
            bool listed = row >= tile->first_row && row < tile->first_row + tile->rows;
            cr_assert_eq(listed, sees(s, row, tile->first_key), "row %u tile %u", row, t);
        }
    }
    for (uint32_t key = 0; key < s->keys; key++)
        cr_assert_eq(taken[key], 1, "key %u is in %u tiles", key, taken[key]);
}

/* The count of the chunks of each piece, as the planner makes it, is that of the list. */
static void check_count(const struct sample *s, const struct tile_list *list)
{
    uint64_t pairs = 0, seen = 0;
    for (uint32_t c = 0, end; c < s->plan.chunk_count; c = end) {
        for (end = c; end < s->plan.chunk_count && s->chunks[end].piece == s->chunks[c].piece;)
            end++;
        pairs += tiles_pairs(&s->plan.shape, &s->chunks[c], end - c);
    }
    for (uint32_t row = 0; row < s->rows; row++)
        seen += list->visible[row];
    cr_assert_eq(list->pairs, seen);
    if (!s->plan.key_chunks)
        cr_assert_eq(list->tile_pairs, pairs);
}

Test(tile_list, property_every_row_and_key_is_once_in_a_tile_of_its_piece)
{
    static struct sample s;
    for (unsigned seed = 0; seed < 300; seed++) {
        make(&s, seed);
        struct tile_list list = { 0 };
        cr_assert(tile_list_build(&s.plan, &list));
        cr_assert_eq(list.rows, s.rows);
        cr_assert_eq(list.key_rows, s.keys);
        check_query_tiles(&s, &list);
        check_key_tiles(&s, &list);
        check_count(&s, &list);
        tile_list_fini(&list);
    }
}

Test(tile_list, nothing_at_all_is_an_empty_list)
{
    uint32_t starts[] = { 0 };
    struct tile_chunk none[1];
    struct tile_plan plan = {
        .piece_starts = starts, .chunks = none, .shape = { 16, 64, 0 }, .key_tile_keys = 64
    };
    struct tile_list list = { 0 };
    cr_assert(tile_list_build(&plan, &list));
    cr_assert_eq(list.query_tile_count + list.key_tile_count, 0);
    tile_list_fini(&list);
}
