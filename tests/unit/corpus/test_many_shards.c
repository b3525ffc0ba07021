/* As many shards as corpora have: one map and one descriptor each, and no more. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "one_source.h"
#include "support/shards.h"

#define SHARDS 700

static size_t count_maps(const char *of)
{
    char line[1024];
    size_t count = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file))
        count += strstr(line, of) != NULL;
    fclose(file);
    return count;
}

Test(many_shards, take_one_map_each)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < SHARDS + 100)
        cr_skip_test("descriptors are limited to %lu", (unsigned long)limit.rlim_cur);
    struct temp_dir dir = temp_dir_make();
    for (int i = 0; i < SHARDS; i++) {
        char name[32], prefix[TEMP_PATH_BYTES];
        int32_t lengths[] = { 1 + i % 7, 2 };
        snprintf(name, sizeof name, "s-%04d", i);
        write_megatron(temp_path(&dir, name, prefix), MEGATRON_U16, lengths, 2);
    }
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "s-*.idx", 1000);
    const struct source *source = &corpus->sources[0];
    cr_assert_eq(source->shard_count, SHARDS);
    cr_assert_eq(source->documents, 2 * SHARDS);
    for (uint64_t i = 0; i < source->documents; i++) {
        uint16_t tokens[8];
        uint64_t count = source_document_tokens(source, i);
        cr_assert_eq(count, i % 2 ? 2 : 1 + i / 2 % 7);
        cr_assert_eq(corpus_read(corpus, 0, i, 0, (uint32_t)count, tokens, NULL), 0);
    }
    cr_assert_eq(count_maps(dir.path), SHARDS);
    corpus_close(corpus);
    cr_assert_eq(count_maps(dir.path), 0);
    temp_dir_remove(&dir);
}
