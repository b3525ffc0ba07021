/*
 * Of which steps a peer has been sent something: those before `below`, and the 64 from there on by
 * a bit each. A rank hands its batches to the trainer in order, so one that was sent nothing of a
 * step cannot have trained on it, nor on any later one, whatever of those it has fetched ahead.
 *
 * A rank that asks for an earlier step has gone back to a checkpoint, or only looks back. So what
 * it was sent before counts until it asks for that anew, one step after the other.
 *
 * Pure. Zero-initialise: of none.
 */
#ifndef BALLAST_SERVE_SENT_STEPS_H
#define BALLAST_SERVE_SENT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct sent_steps {
    uint64_t below, bits;
    uint64_t anew, until; /* sent before it asked for an earlier step, and not asked for since */
    uint64_t asked;       /* a bit for each of the 64 from `anew` on that has been */
};

static inline bool sent_steps_has(const struct sent_steps *sent, uint64_t step)
{
    return step < sent->below ||
           (step - sent->below < 64 && sent->bits >> (step - sent->below) & 1) ||
           (step >= sent->anew && step < sent->until);
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
    if (sent->anew > step)
        sent->until = 0;
}

/* The peer begins at `step`: it may have all before it, and nothing of what follows. */
static inline struct sent_steps sent_steps_begin(uint64_t step)
{
    return (struct sent_steps){ .below = step };
}

/* One more than the furthest that it may have; UINT64_MAX is never exceeded. */
static inline uint64_t sent_steps_end(const struct sent_steps *sent)
{
    uint64_t end = sent->below > sent->until ? sent->below : sent->until;
    for (uint64_t i = 64; i > 0; i--)
        if (sent->bits >> (i - 1) & 1 && sent->below <= UINT64_MAX - i && sent->below + i > end)
            return sent->below + i;
    return end;
}

/* It asks for `step`. */
static inline void sent_steps_ask(struct sent_steps *sent, uint64_t step)
{
    if (step < sent->anew || step >= sent->until || step - sent->anew >= 64)
        return;
    sent->asked |= (uint64_t)1 << (step - sent->anew);
    for (; sent->asked & 1; sent->asked >>= 1)
        sent->anew++;
}

/* It asks for `step` although it had that. */
static inline void sent_steps_back(struct sent_steps *sent, uint64_t step)
{
    *sent = (struct sent_steps){ .below = step, .anew = step, .until = sent_steps_end(sent) };
    sent_steps_ask(sent, step);
}

#endif
