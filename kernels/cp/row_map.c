#include "kernels/cp/row_map.h"

#include <stdlib.h>

#include "kernels/cp/rows.h"

static void place_chunk(struct row_map *map, uint32_t token, uint32_t row, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        map->exchanged[token + i] = row + i;
        map->token[row + i] = token + i;
    }
}

static void place_rank(const ballast_attention_cp_plan *plan, uint32_t rank, struct row_map *map)
{
    uint32_t row = rank * plan->padded_tokens;
    for (uint32_t i = plan->rank_chunks[rank]; i < plan->rank_chunks[rank + 1]; i++) {
        const ballast_attention_chunk *chunk = &plan->chunks[i];
        place_chunk(map, plan->cu_seqlens[chunk->piece] + chunk->start, row, chunk->length);
        row += chunk->length;
    }
}

static uint32_t *rows_of_none(size_t count)
{
    uint32_t *rows = malloc((count ? count : 1) * sizeof *rows);
    for (size_t i = 0; rows && i < count; i++)
        rows[i] = ROWS_NONE;
    return rows;
}

bool row_map_init(const ballast_attention_cp_plan *plan, struct row_map *map)
{
    map->tokens = plan->cu_seqlens[plan->piece_count];
    map->exchanged_rows = plan->ranks * plan->padded_tokens;
    map->exchanged = rows_of_none(map->tokens);
    map->token = rows_of_none(map->exchanged_rows);
    if (!map->exchanged || !map->token)
        return false;
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        place_rank(plan, rank, map);
    return true;
}

void row_map_fini(struct row_map *map)
{
    free(map->exchanged);
    free(map->token);
    *map = (struct row_map){ 0 };
}

uint32_t row_map_hole(const struct row_map *map)
{
    for (uint32_t i = 0; i < map->tokens; i++)
        if (map->exchanged[i] == ROWS_NONE)
            return i;
    return UINT32_MAX;
}
