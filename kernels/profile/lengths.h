/*
 * Document lengths for packs, one a line, as Ballast's `lengths` sources have them.
 */
#ifndef BALLAST_PROFILE_LENGTHS_H
#define BALLAST_PROFILE_LENGTHS_H

#include <stddef.h>
#include <stdint.h>

#include <ballast/attention.h>

#include "kernels/profile/pack.h"

/* Zero-initialise; profile_lengths_fini is right after success and after failure. */
struct profile_lengths {
    uint32_t *items;
    size_t count, capacity;
};

/* At most PROFILE_MAX_LENGTHS are taken. 0, EX_DATAERR, EX_NOINPUT or EX_OSERR. */
#define PROFILE_MAX_LENGTHS (1u << 20)
int profile_lengths_read(const char *path, struct profile_lengths *lengths,
                         ballast_attention_error *error);
void profile_lengths_fini(struct profile_lengths *lengths);

/*
 * The next `window` tokens of the documents, from `*position` on and again from the first behind
 * the last, as the shares of rank `rank` of `cp`; the last document is cut. EX_OSERR without
 * memory. *position moves on.
 */
int profile_lengths_pack(const struct profile_lengths *lengths, size_t *position, uint32_t window,
                         uint32_t cp, uint32_t rank, struct profile_pack *pack,
                         ballast_attention_error *error);

#endif
