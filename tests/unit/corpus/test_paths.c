/* From the paths of a source to its shards: globs, order, either member, duplicates. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "corpus/corpus.h"
#include "corpus/shard.h"
#include "one_source.h"
#include "support/shards.h"

static struct temp_dir dir;

static void set_up(void)
{
    dir = temp_dir_make();
    static const char *const names[] = { "web-2", "web-10", "web-1", "other" };
    for (size_t i = 0; i < 4; i++) {
        const int32_t length = (int32_t)i + 1;
        char prefix[TEMP_PATH_BYTES];
        write_megatron(temp_path(&dir, names[i], prefix), MEGATRON_U16, &length, 1);
    }
}

static void tear_down(void)
{
    temp_dir_remove(&dir);
}

TestSuite(paths, .init = set_up, .fini = tear_down);

/* The shards of a corpus are those whose base names are given, in that order. */
static void must_be_shards(const struct corpus *corpus, const char *const *names)
{
    const struct source *source = &corpus->sources[0];
    size_t count = 0;
    for (; names[count]; count++) {
        cr_assert_lt(count, source->shard_count);
        const char *path = source->shards[count].path;
        cr_expect_str_eq(strrchr(path, '/') + 1, names[count]);
    }
    cr_expect_eq(source->shard_count, count);
}

static void must_match(const char *pattern, const char *const *names)
{
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, pattern, 0);
    must_be_shards(corpus, names);
    corpus_close(corpus);
}

/* Byte by byte, '1' and '.' come before '2', and '.' before '0'. */
Test(paths, order_is_by_name)
{
    must_match("web-*.idx", SAYS("web-1.idx", "web-10.idx", "web-2.idx"));
}

Test(paths, either_member_or_the_prefix_names_the_pair)
{
    must_match("web-1.idx", SAYS("web-1.idx"));
    must_match("web-1.bin", SAYS("web-1.idx"));
    must_match("web-1", SAYS("web-1.idx"));
    must_match("web-?", SAYS("web-1.idx", "web-2.idx"));
    must_match("web-*", SAYS("web-1.idx", "web-10.idx", "web-2.idx"));
}

Test(paths, overlapping_patterns_count_a_shard_once)
{
    char name[] = "s", all[TEMP_PATH_BYTES], one[TEMP_PATH_BYTES], data[TEMP_PATH_BYTES];
    temp_path(&dir, "web-1*.idx", all);
    temp_path(&dir, "web-1.idx", one);
    temp_path(&dir, "o*.bin", data);
    char *paths[] = { all, one, data };
    struct source_spec spec = { .name = name, .paths = paths, .path_count = 3, .weight = 1 };
    struct corpus *corpus;
    struct error err = { 0 };
    cr_assert_eq(corpus_open(&spec, 1, 0, NULL, NULL, &corpus, &err), 0, "%s", err.text);
    must_be_shards(corpus, SAYS("other.idx", "web-1.idx", "web-10.idx"));
    corpus_close(corpus);
}

Test(paths, one_file_under_two_names_is_refused)
{
    char target[TEMP_PATH_BYTES], link[TEMP_PATH_BYTES];
    temp_path(&dir, "web-1.idx", target);
    cr_assert_eq(symlink(target, temp_path(&dir, "web-9.idx", link)), 0);
    must_refuse(SOURCE_MEGATRON, &dir, "web-*.idx", EX_CONFIG,
                SAYS("source s", "web-1.idx", "web-9.idx", "same file"));
}

Test(paths, what_matches_nothing_is_named)
{
    must_refuse(SOURCE_MEGATRON, &dir, "absent-*.idx", EX_NOINPUT,
                SAYS("source s", "absent-*.idx", "matches no file"));
    must_refuse(SOURCE_MEGATRON, &dir, "absent.idx", EX_NOINPUT, SAYS("absent.idx"));
    must_refuse(SOURCE_MEGATRON, &dir, "no/such/directory/*.idx", EX_NOINPUT,
                SAYS("no/such/directory/*.idx"));
    must_refuse(SOURCE_LENGTHS, &dir, "absent.txt", EX_NOINPUT, SAYS("absent.txt"));
}

Test(paths, data_without_an_index_is_named)
{
    char path[TEMP_PATH_BYTES];
    cr_assert_eq(unlink(temp_path(&dir, "web-2.idx", path)), 0);
    must_refuse(SOURCE_MEGATRON, &dir, "web-2.bin", EX_NOINPUT, SAYS("web-2.idx", "No such file"));
}

/* A pair that has lost its data is a bad shard under every name, and never one the less. */
Test(paths, an_index_without_data_is_named)
{
    static const char *const patterns[] = { "web-2.bin", "web-?.bin", "web-*.bin",
                                            "web-2.idx", "web-2",     "web-*" };
    char path[TEMP_PATH_BYTES];
    cr_assert_eq(unlink(temp_path(&dir, "web-2.bin", path)), 0);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        must_refuse(SOURCE_MEGATRON, &dir, patterns[i], EX_NOINPUT,
                    SAYS("source s", "web-2.bin", "No such file"));
    must_match("web-1*.bin", SAYS("web-1.idx", "web-10.idx"));
}

Test(paths, a_glob_that_matches_something_else_is_refused)
{
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "web-README", path), "x", 1);
    must_refuse(SOURCE_MEGATRON, &dir, "web-*", EX_CONFIG,
                SAYS("web-*", "web-README", "neither .idx nor .bin"));
}

Test(paths, a_name_may_hold_what_globs_know)
{
    const int32_t length = 9;
    char prefix[TEMP_PATH_BYTES];
    write_megatron(temp_path(&dir, "odd[1]*", prefix), MEGATRON_U16, &length, 1);
    must_match("odd[1]*.idx", SAYS("odd[1]*.idx"));
}

/* As many descriptors as are open now: the next one is refused. */
Test(paths, running_out_of_descriptors_says_what_to_do)
{
    int next = dup(0);
    cr_assert_geq(next, 0);
    close(next);
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)next + 2; /* one for the glob or an index, one for its data */
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct corpus *corpus;
    struct error err = { 0 };
    int code = open_one(SOURCE_MEGATRON, &dir, "web-*.idx", 0, &corpus, &err);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    cr_expect_eq(code, EX_OSERR, "%d: %s", code, err.text);
    must_say(err.text, SAYS("web-10", "Too many open files", "ulimit -n"));
}
