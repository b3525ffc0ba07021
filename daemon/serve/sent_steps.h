/*
 * Of which steps a peer has been sent something: those before `below`, and the 64 from there on by
 * a bit each. A rank hands its batches to the trainer in order, so one that was sent nothing of a
 * step cannot have trained on it, nor on any later one, whatever of those it has fetched ahead.
 *
 * Pure. Zero-initialise: of none.
 */
#ifndef BALLAST_SERVE_SENT_STEPS_H
#define BALLAST_SERVE_SENT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct sent_steps {
    uint64_t below, bits;
};

static inline bool sent_steps_has(const struct sent_steps *sent, uint64_t step)
{
    return step < sent->below ||
           (step - sent->below < 64 && sent->bits >> (step - sent->below) & 1);
}

/* Steps far behind the furthest count as sent. */
static inline void sent_steps_add(struct sent_steps *sent, uint64_t step)
{
    if (step < sent->below)
        return;
    if (step - sent->below >= 64) {
        uint64_t shift = step - sent->below - 63;
        sent->bits = shift < 64 ? sent->bits >> shift : 0;
        sent->below += shift;
    }
    sent->bits |= (uint64_t)1 << (step - sent->below);
}

/* Nothing of `step` was sent, and what was of later ones is void. */
static inline void sent_steps_cut(struct sent_steps *sent, uint64_t step)
{
    if (step >= sent->below && step - sent->below < 64)
        sent->bits &= ((uint64_t)1 << (step - sent->below)) - 1;
}

/* The peer begins at `step`: it may have all before it, and nothing of what follows. */
static inline struct sent_steps sent_steps_begin(uint64_t step)
{
    return (struct sent_steps){ .below = step };
}

#endif
