#include "serve/hash_table.h"

#include <stdlib.h>

#include "base/permutation.h"

static size_t bucket_of(const struct hash_table *table, uint64_t key)
{
    return (size_t)mix_keys(key, 0) & (table->bucket_count - 1);
}

int hash_table_init(struct hash_table *table, size_t expected, struct error *err)
{
    size_t buckets = 16;
    while (buckets < expected && buckets <= SIZE_MAX / 4)
        buckets *= 2;
    struct hash_link **array = calloc(buckets, sizeof(struct hash_link *));
    if (!array)
        return error_memory(err, "making a hash table");
    *table = (struct hash_table){ .buckets = array, .bucket_count = buckets };
    return 0;
}

void hash_table_fini(struct hash_table *table)
{
    free(table->buckets);
    *table = (struct hash_table){ 0 };
}

void hash_table_add(struct hash_table *table, struct hash_link *link, uint64_t key)
{
    struct hash_link **bucket = &table->buckets[bucket_of(table, key)];
    link->key = key;
    link->next = *bucket;
    *bucket = link;
    table->count++;
}

void hash_table_remove(struct hash_table *table, struct hash_link *link)
{
    struct hash_link **at = &table->buckets[bucket_of(table, link->key)];
    while (*at && *at != link)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = link->next;
    table->count--;
}

static struct hash_link *with_key(struct hash_link *link, uint64_t key)
{
    while (link && link->key != key)
        link = link->next;
    return link;
}

struct hash_link *hash_table_find(const struct hash_table *table, uint64_t key)
{
    return with_key(table->buckets[bucket_of(table, key)], key);
}

struct hash_link *hash_table_same(const struct hash_link *link)
{
    return with_key(link->next, link->key);
}

struct hash_link *hash_table_each(const struct hash_table *table, const struct hash_link *link)
{
    if (link && link->next)
        return link->next;
    size_t bucket = link ? bucket_of(table, link->key) + 1 : 0;
    while (bucket < table->bucket_count && !table->buckets[bucket])
        bucket++;
    return bucket < table->bucket_count ? table->buckets[bucket] : NULL;
}
