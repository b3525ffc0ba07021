/*
 * Steps of which every share has been gathered since they were planned, or since a rank last came
 * back to them. Where a bad shard may be dropped, nothing of a step is sent before: else some ranks
 * would have theirs when another's turns out to be bad, and the step could not be changed any more.
 *
 * Bounded: the latest ones are known. Thread: the loop's. Owner: the server.
 */
#ifndef BALLAST_SERVE_WHOLE_STEPS_H
#define BALLAST_SERVE_WHOLE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHOLE_STEPS_KNOWN 64

struct whole_step {
    uint64_t step;
    size_t missing;      /* shares that have not been gathered */
    unsigned char *seen; /* by share: whether it has; NULL: nothing is known */
};

/* Zero-initialise; whole_steps_fini. */
struct whole_steps {
    struct whole_step steps[WHOLE_STEPS_KNOWN];
    unsigned next;   /* to be used again */
    unsigned latest; /* asked for: most likely the next, too */
};

void whole_steps_fini(struct whole_steps *whole);

/* One of the step's `shares` shares was gathered. Out of memory it is forgotten. */
void whole_steps_add(struct whole_steps *whole, uint64_t step, size_t share, size_t shares);

/* Was this share gathered? */
bool whole_steps_saw(struct whole_steps *whole, uint64_t step, size_t share);

/* Were all? */
bool whole_steps_has(struct whole_steps *whole, uint64_t step);

/* Steps from `step` on are planned anew, or sent anew. */
void whole_steps_drop_from(struct whole_steps *whole, uint64_t step);

#endif
