/* Opening a corpus, with every allocation failing once: an error, and never another corpus. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "corpus/corpus.h"
#include "one_source.h"
#include "support/fault_sweep.h"
#include "support/shards.h"

/* The last two of three shards have lost their tokens; only the second was dropped. */
static const struct dropped_shard second = { .number = 1, .name = "web-1.idx" };

static void make_shards(const struct temp_dir *dir)
{
    static const char *const names[] = { "web-0", "web-1", "web-2" };
    const int32_t lengths[] = { 7, 8, 9 };
    char path[TEMP_PATH_BYTES];
    for (size_t i = 0; i < 3; i++)
        write_megatron(temp_path(dir, names[i], path), MEGATRON_U16, lengths, 3);
    cr_assert_eq(unlink(temp_path(dir, "web-1.bin", path)), 0);
    cr_assert_eq(truncate(temp_path(dir, "web-2.bin", path), 5), 0);
}

/* True when the at-th allocation was one of this opening. */
static bool sweep_one(const struct source_spec *spec, const struct corpus *expected,
                      unsigned long long at)
{
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    fault_sweep_arm(at);
    int code = corpus_open(spec, 1, 256, NULL, NULL, &corpus, &err);
    bool hit = fault_sweep_disarm();
    cr_assert_eq(code, code ? EX_OSERR : 0, "allocation %llu: %d, %s", at, code, err.text);
    if (code) {
        cr_assert(hit);
        return true;
    }
    cr_assert(digest_equal(corpus->fingerprint, expected->fingerprint), "allocation %llu", at);
    cr_assert_eq(corpus->sources[0].unread_count, 1);
    cr_assert_eq(corpus->sources[0].left_out_count, 1);
    corpus_close(corpus);
    return hit;
}

Test(allocation, of_a_corpus_with_bad_shards)
{
    if (!fault_sweep_possible())
        cr_skip_test("the fault shim is not preloaded");
    struct temp_dir dir = temp_dir_make();
    make_shards(&dir);
    char name[] = "web", path[TEMP_PATH_BYTES], *paths[] = { path };
    temp_path(&dir, "web-*.bin", path);
    struct source_spec spec = { .name = name,
                                .paths = paths,
                                .path_count = 1,
                                .weight = 1,
                                .leave_out_bad = true,
                                .dropped = &second,
                                .dropped_count = 1 };
    struct corpus *expected = NULL;
    struct error err = { 0 };
    cr_assert_eq(corpus_open(&spec, 1, 256, NULL, NULL, &expected, &err), 0, "%s", err.text);
    unsigned long long at = 1;
    while (sweep_one(&spec, expected, at))
        at++;
    cr_log_info("%llu allocations failed in turn", at - 1);
    cr_assert_gt(at, 20);
    corpus_close(expected);
    temp_dir_remove(&dir);
}
