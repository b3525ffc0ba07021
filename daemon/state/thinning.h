/*
 * Which snapshots to keep: those near the step where the job stands, and further away one for each
 * doubling of the distance, so that any step is at most about as far from a snapshot as it is from
 * the job. Pure.
 */
#ifndef BALLAST_STATE_THINNING_H
#define BALLAST_STATE_THINNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THINNING_NEAR 4 /* so many are kept in any case, the nearest ones behind the job */
#define THINNING_MOST_BYTES 600000u /* of all together, while there are more than those */

struct thinning_item {
    uint64_t step;
    uint64_t bytes;
    bool keep; /* filled in */
};

/* `items` by rising step; the job stands at `centre`. */
void thinning_choose(struct thinning_item *items, size_t count, uint64_t centre);

#endif
