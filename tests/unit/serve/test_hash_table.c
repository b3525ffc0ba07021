/* The intrusive hash table: shared keys, removal, walks. */
#include <criterion/criterion.h>
#include <stdbool.h>

#include "serve/hash_table.h"

#define ITEMS 500

static struct hash_link items[ITEMS];

static struct hash_table filled(uint64_t keys)
{
    struct hash_table table;
    struct error err = { 0 };
    cr_assert_eq(hash_table_init(&table, 64, &err), 0, "%s", err.text);
    for (uint64_t i = 0; i < ITEMS; i++)
        hash_table_add(&table, &items[i], i % keys);
    return table;
}

static size_t count_same(const struct hash_table *table, uint64_t key)
{
    size_t count = 0;
    for (struct hash_link *at = hash_table_find(table, key); at; at = hash_table_same(at))
        count++;
    return count;
}

static size_t count_each(const struct hash_table *table)
{
    size_t count = 0;
    for (struct hash_link *at = hash_table_each(table, NULL); at; at = hash_table_each(table, at))
        count++;
    return count;
}

Test(hash_table, finds_every_item_of_a_key)
{
    struct hash_table table = filled(50);
    for (uint64_t key = 0; key < 50; key++)
        cr_assert_eq(count_same(&table, key), 10);
    cr_assert_null(hash_table_find(&table, 50));
    hash_table_fini(&table);
}

Test(hash_table, walks_over_all_while_they_are_removed)
{
    struct hash_table table = filled(7);
    cr_assert_eq(count_each(&table), ITEMS);
    size_t removed = 0;
    struct hash_link *at = hash_table_each(&table, NULL);
    while (at) {
        struct hash_link *next = hash_table_each(&table, at);
        if (at->key != 3) {
            hash_table_remove(&table, at);
            removed++;
        }
        at = next;
    }
    cr_assert_eq(table.count, ITEMS - removed);
    cr_assert_eq(count_each(&table), count_same(&table, 3));
    hash_table_fini(&table);
}

Test(hash_table, an_empty_one_has_nothing)
{
    struct hash_table table = { 0 };
    cr_assert_eq(hash_table_init(&table, 0, NULL), 0);
    cr_assert_null(hash_table_each(&table, NULL));
    cr_assert_null(hash_table_find(&table, 0));
    hash_table_fini(&table);
    hash_table_fini(&table);
}
