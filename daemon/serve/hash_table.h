/*
 * A hash table whose links lie inside its items, for sets whose size is bounded by configuration:
 * the number of buckets is chosen once. Several items may share a key. One thread at a time.
 */
#ifndef BALLAST_SERVE_HASH_TABLE_H
#define BALLAST_SERVE_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hash_link {
    struct hash_link *next;
    uint64_t key;
};

struct hash_table {
    struct hash_link **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
};

/* A table for about `expected` items (more only make it slower). EX_OSERR when out of memory. */
int hash_table_init(struct hash_table *table, size_t expected, struct error *err);

/* Frees the buckets; the items are their owners'. A zeroed table is accepted. */
void hash_table_fini(struct hash_table *table);

void hash_table_add(struct hash_table *table, struct hash_link *link, uint64_t key);

/* `link` must be in the table. */
void hash_table_remove(struct hash_table *table, struct hash_link *link);

/* The first item with that key, or NULL; then the next one with the same key, or NULL. */
struct hash_link *hash_table_find(const struct hash_table *table, uint64_t key);
struct hash_link *hash_table_same(const struct hash_link *link);

/* Walks over all items: starts with NULL, ends with NULL. The item returned may only be removed
 * after the one behind it has been asked for. */
struct hash_link *hash_table_each(const struct hash_table *table, const struct hash_link *link);

#endif
