#include "serve/payload_cache.h"

#include <stdlib.h>

#include "base/permutation.h"

struct entry {
    struct hash_link link;
    struct list used;
    struct payload_key key;
    size_t bytes;
    struct payload *payload; /* NULL while it is being gathered */
};

/* A cache holds some thousands of payloads; more only lengthen the chains. */
#define EXPECTED_ENTRIES 4096

int payload_cache_init(struct payload_cache *cache, size_t limit_bytes, struct error *err)
{
    *cache = (struct payload_cache){ .limit_bytes = limit_bytes };
    list_init(&cache->used);
    return hash_table_init(&cache->table, EXPECTED_ENTRIES, err);
}

static uint64_t hash_of(struct payload_key key)
{
    return mix_keys(key.step, (uint64_t)key.microbatch << 32 | key.rank);
}

static struct entry *entry_of(const struct payload_cache *cache, struct payload_key key)
{
    struct hash_link *link = hash_table_find(&cache->table, hash_of(key));
    for (; link; link = hash_table_same(link)) {
        struct entry *entry = list_entry(link, struct entry, link);
        if (entry->key.step == key.step && entry->key.microbatch == key.microbatch &&
            entry->key.rank == key.rank)
            return entry;
    }
    return NULL;
}

static void drop(struct payload_cache *cache, struct entry *entry)
{
    hash_table_remove(&cache->table, &entry->link);
    list_remove(&entry->used);
    cache->bytes -= entry->bytes;
    if (entry->payload)
        cache->count--;
    payload_unref(entry->payload);
    free(entry);
}

void payload_cache_fini(struct payload_cache *cache)
{
    if (!cache->table.buckets)
        return;
    struct hash_link *link = hash_table_each(&cache->table, NULL);
    while (link) {
        struct hash_link *next = hash_table_each(&cache->table, link);
        drop(cache, list_entry(link, struct entry, link));
        link = next;
    }
    hash_table_fini(&cache->table);
}

enum payload_state payload_cache_find(struct payload_cache *cache, struct payload_key key,
                                      struct payload **ret_payload)
{
    struct entry *entry = entry_of(cache, key);
    if (!entry)
        return PAYLOAD_ABSENT;
    if (!entry->payload)
        return PAYLOAD_COMING;
    list_remove(&entry->used);
    list_push_back(&cache->used, &entry->used);
    *ret_payload = entry->payload;
    return PAYLOAD_HERE;
}

/* Only the entry unused for longest is looked at: with time every entry lies in the past. */
static bool make_room(struct payload_cache *cache, size_t bytes, uint64_t past)
{
    while (cache->bytes && cache->bytes + bytes > cache->limit_bytes) {
        if (list_empty(&cache->used))
            return false;
        struct entry *oldest = list_entry(cache->used.next, struct entry, used);
        if (oldest->key.step >= past)
            return false;
        drop(cache, oldest);
    }
    return true; /* a single payload larger than the budget is let in alone */
}

bool payload_cache_reserve(struct payload_cache *cache, struct payload_key key, size_t bytes,
                           uint64_t past)
{
    if (!make_room(cache, bytes, past))
        return false;
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return false;
    entry->key = key;
    entry->bytes = bytes;
    list_init(&entry->used);
    hash_table_add(&cache->table, &entry->link, hash_of(key));
    cache->bytes += bytes;
    return true;
}

void payload_cache_fill(struct payload_cache *cache, struct payload_key key,
                        struct payload *payload)
{
    struct entry *entry = entry_of(cache, key);
    if (!entry || entry->payload)
        return;
    entry->payload = payload_ref(payload);
    cache->count++;
    list_push_back(&cache->used, &entry->used);
}

void payload_cache_cancel(struct payload_cache *cache, struct payload_key key)
{
    struct entry *entry = entry_of(cache, key);
    if (entry && !entry->payload)
        drop(cache, entry);
}

void payload_cache_drop_from(struct payload_cache *cache, uint64_t step)
{
    struct hash_link *link = hash_table_each(&cache->table, NULL);
    while (link) {
        struct hash_link *next = hash_table_each(&cache->table, link);
        struct entry *entry = list_entry(link, struct entry, link);
        if (entry->key.step >= step)
            drop(cache, entry);
        link = next;
    }
}

void payload_cache_forget(struct payload_cache *cache, uint64_t step)
{
    struct list *at = cache->used.next;
    while (at != &cache->used) {
        struct entry *entry = list_entry(at, struct entry, used);
        at = at->next;
        if (entry->key.step < step)
            drop(cache, entry);
    }
}
