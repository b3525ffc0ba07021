/*
 * Gathered payloads by (step, micro-batch, CP rank), the least recently used dropped first, within
 * a budget of bytes. A payload that is still being gathered has its entry, and its bytes count,
 * from the moment it is reserved; so the same tokens are never gathered twice at once.
 *
 * Gathering ahead of demand may only push out what lies in the past, so it never displaces what is
 * needed sooner than itself. Thread: the loop's. Owner: the server.
 */
#ifndef BALLAST_SERVE_PAYLOAD_CACHE_H
#define BALLAST_SERVE_PAYLOAD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/hash_table.h"
#include "serve/list.h"
#include "serve/payload.h"

struct payload_key {
    uint64_t step;
    uint32_t microbatch, rank;
};

struct payload_cache {
    struct hash_table table;
    struct list used; /* complete entries, the least recently used first */
    size_t bytes, limit_bytes;
    size_t count; /* complete entries */
};

int payload_cache_init(struct payload_cache *cache, size_t limit_bytes, struct error *err);

/* Drops every entry. A zeroed cache is accepted. */
void payload_cache_fini(struct payload_cache *cache);

enum payload_state { PAYLOAD_ABSENT, PAYLOAD_COMING, PAYLOAD_HERE };

/* With PAYLOAD_HERE, *ret_payload is the cache's: take a reference to keep it. */
enum payload_state payload_cache_find(struct payload_cache *cache, struct payload_key key,
                                      struct payload **ret_payload);

/*
 * Makes an entry for a payload that will be gathered, `bytes` long, pushing out others: any of
 * them when somebody waits for it, only those of steps before `past` when gathering ahead
 * (`past` = UINT64_MAX: any). False when there is no room, or no memory.
 */
bool payload_cache_reserve(struct payload_cache *cache, struct payload_key key, size_t bytes,
                           uint64_t past);

/* Completes a reserved entry; the cache takes a reference of its own. */
void payload_cache_fill(struct payload_cache *cache, struct payload_key key,
                        struct payload *payload);

/* Gives a reserved entry up. */
void payload_cache_cancel(struct payload_cache *cache, struct payload_key key);

/* Drops every entry of `step` and later ones, also those that are still being gathered. */
void payload_cache_drop_from(struct payload_cache *cache, uint64_t step);

/* Drops complete entries of steps before `step`. */
void payload_cache_forget(struct payload_cache *cache, uint64_t step);

#endif
