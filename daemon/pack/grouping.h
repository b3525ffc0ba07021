/* From "piece i goes to micro-batch b" to a packed step. */
#ifndef BALLAST_PACK_GROUPING_H
#define BALLAST_PACK_GROUPING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "pack/pack.h"

/* In place of a micro-batch: the piece stays behind. */
#define GROUP_NONE UINT32_MAX

/*
 * Fills `packing` with the pieces whose group is below shape->microbatches, micro-batch by
 * micro-batch, each in the order of `pieces`. EX_OSERR when out of memory.
 */
int group_pieces(const struct pack_shape *shape, const struct piece *pieces, const uint32_t *groups,
                 size_t count, struct packing *packing, struct error *err);

#endif
