/*
 * What `fixed-greedy` and `fixed-solver` share: the pieces that `plain` would cut, `window` global
 * batches at a time, are given micro-batches of S tokens by the policy's own rule. Micro-batches
 * alike in work then share a step; what got none waits for the next window.
 */
#ifndef BALLAST_PACK_FIXED_WINDOWS_H
#define BALLAST_PACK_FIXED_WINDOWS_H

#include "pack/grouping.h"
#include "pack/longest_first.h"
#include "pack/pack.h"
#include "pack/pieces.h"

/* A micro-batch of the window while it is filled. */
struct window_bin {
    uint64_t work; /* attention: sum of squared lengths */
    uint32_t index, tokens;
};

/* Pieces that are to be spread over bins. */
struct window_problem {
    const struct piece *pieces; /* longest first */
    size_t count;
    uint32_t bins;
    uint32_t room;      /* S: tokens of a bin */
    uint64_t go_first;  /* pieces that arrived in this step or before are placed first, ... */
    bool some_go_first; /* ... if there can be any */
    uint32_t capped;    /* the first of the bins that must not have more work than `cap`, ... */
    uint64_t cap;       /* ... and take what they can; the work of the others is kept small */
};

/*
 * Fills groups[0 .. problem->count) with bins, or GROUP_NONE for pieces that are to wait. Any
 * error ends the packing.
 */
typedef int window_assign(void *state, const struct window_problem *problem, uint32_t *groups,
                          struct error *err);

/*
 * Gives every piece whose group is GROUP_NONE the first capped bin that may take it, else the bin
 * of least work that has room for it: pieces that go first, then the others, each in order. `bins`
 * hold what the other pieces take already.
 */
void window_fill(const struct window_problem *problem, struct window_bin *bins, uint32_t *groups);

/* The bins that `groups` make, all of them counted from nothing. */
void window_count(const struct window_problem *problem, const uint32_t *groups,
                  struct window_bin *bins);

/* The state of a policy begins with one of these. */
struct fixed_windows {
    struct pack_shape shape;
    window_assign *assign;
    uint32_t window;       /* global batches packed together */
    uint64_t most_carried; /* tokens; above it a window takes nothing new */
    uint64_t most_delay;   /* steps; after it a piece goes first */

    struct pieces pool; /* carried over from the last window, then this window's */
    struct pieces rest; /* at most one: what the window's last cut left over */
    uint64_t intake;    /* tokens taken for this window */
    uint32_t room;      /* tokens to the next window edge of `plain` */

    struct pieces ready; /* packed and not yet served: piece i belongs to bin groups[i] */
    uint32_t *groups;
    size_t group_capacity;
    uint32_t ready_bins, served_bins; /* bins packed, bins already served */

    struct window_bin *bins; /* scratch, window x N */
    uint32_t *ranks;         /* scratch: bin -> its place by work */
    struct longest_first sort;
};

/* For zeroed memory. EX_CONFIG or EX_OSERR; fini is right after success and after failure. */
int fixed_windows_init(struct fixed_windows *windows, const struct pack_shape *shape,
                       const struct pack_options *options, window_assign *assign,
                       struct error *err);
void fixed_windows_fini(struct fixed_windows *windows);

/* Members of a struct pack_policy. */
bool fixed_windows_wants(const void *state);
int fixed_windows_offer(void *state, const struct piece *piece, struct error *err);
int fixed_windows_pack(void *state, bool draining, struct packing *ret_packing, struct error *err);
size_t fixed_windows_waiting(const void *state, struct waiting_piece *pieces, size_t capacity);
int fixed_windows_restore(void *state, const struct waiting_piece *pieces, size_t count,
                          struct error *err);
void fixed_windows_place_name(const void *state, uint32_t place, char *text, size_t bytes);

#endif
