/*
 * Where each token's row stands: among the rows as ranks exchange them, rank after rank, each with
 * its padding, and in the sequence, piece after piece. Host memory, plain C.
 */
#ifndef BALLAST_KERNELS_CP_ROW_MAP_H
#define BALLAST_KERNELS_CP_ROW_MAP_H

#include <ballast/attention_cp.h>
#include <stdbool.h>

/* Zero-initialise; row_map_fini is right after success and after failure. */
struct row_map {
    uint32_t *exchanged; /* [tokens] exchanged row of each token of the sequence */
    uint32_t *token;     /* [exchanged_rows] the other way round; ROWS_NONE: padding */
    uint32_t tokens, exchanged_rows;
};

/*
 * From a plan whose chunks lie within their pieces and whose ranks have room for theirs. False when
 * out of memory.
 */
bool row_map_init(const ballast_attention_cp_plan *plan, struct row_map *map);

void row_map_fini(struct row_map *map);

/* A token that no chunk holds, or UINT32_MAX. */
uint32_t row_map_hole(const struct row_map *map);

#endif
