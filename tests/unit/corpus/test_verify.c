/* shard_verify, on made shards and, where they are, on the shared ones. */
#include <criterion/criterion.h>
#include <glob.h>
#include <string.h>

#include "corpus/corpus.h"
#include "one_source.h"
#include "support/shards.h"

static struct temp_dir dir;

static void set_up(void)
{
    dir = temp_dir_make();
}

static void tear_down(void)
{
    temp_dir_remove(&dir);
}

TestSuite(verify, .init = set_up, .fini = tear_down);

static struct shard_facts must_verify(const char *name)
{
    char path[TEMP_PATH_BYTES];
    struct shard_facts facts = { 0 };
    struct error err = { 0 };
    cr_assert_eq(shard_verify(temp_path(&dir, name, path), 0, &facts, &err), 0, "%s", err.text);
    return facts;
}

Test(verify, counts_documents_and_tokens_by_any_name)
{
    const int32_t lengths[] = { 5, 0, 6 };
    char path[TEMP_PATH_BYTES];
    write_megatron(temp_path(&dir, "x", path), MEGATRON_U16, lengths, 3);
    static const char *const names[] = { "x.idx", "x.bin", "x" };
    for (size_t i = 0; i < 3; i++) {
        struct shard_facts facts = must_verify(names[i]);
        cr_expect_eq(facts.documents, 3);
        cr_expect_eq(facts.empty_documents, 1);
        cr_expect_eq(facts.tokens, 11);
    }
}

Test(verify, anything_else_is_lengths)
{
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "lengths", path), "4\n0\n", 4);
    struct shard_facts facts = must_verify("lengths");
    cr_expect_eq(facts.documents, 2);
    cr_expect_eq(facts.empty_documents, 1);
    cr_expect_eq(facts.tokens, 4);
}

/* The bad id lies in the third block of 1 MiB. */
Test(verify, every_token_is_looked_at)
{
    const int32_t lengths[] = { 700000, 700000 };
    struct megatron_pair *pair = megatron_pair_new(MEGATRON_U16, lengths, 2);
    megatron_pair_set_token(pair, 1399999, 300);
    char path[TEMP_PATH_BYTES];
    megatron_pair_write(pair, temp_path(&dir, "x", path));
    megatron_pair_free(pair);
    temp_path(&dir, "x.idx", path);
    struct shard_facts facts = { .tokens = 42 };
    struct error err = { 0 };
    cr_expect_eq(shard_verify(path, 300, &facts, &err), EX_DATAERR);
    must_say(err.text, SAYS("x.bin", "token 1399999 is 300", "300"));
    cr_expect_eq(facts.tokens, 42);
    cr_expect_eq(shard_verify(path, 301, &facts, &err), 0);
    cr_expect_eq(facts.tokens, 1400000);
}

Test(verify, negative_ids_are_found_without_a_vocabulary)
{
    const int32_t lengths[] = { 10 };
    struct megatron_pair *pair = megatron_pair_new(MEGATRON_I32, lengths, 1);
    megatron_pair_set_token(pair, 9, -1);
    char path[TEMP_PATH_BYTES];
    megatron_pair_write(pair, temp_path(&dir, "x", path));
    megatron_pair_free(pair);
    struct shard_facts facts;
    struct error err = { 0 };
    cr_expect_eq(shard_verify(temp_path(&dir, "x.idx", path), 0, &facts, &err), EX_DATAERR);
    must_say(err.text, SAYS("token 9 is -1"));
}

Test(verify, what_is_not_there)
{
    char path[TEMP_PATH_BYTES];
    struct shard_facts facts;
    struct error err = { 0 };
    cr_expect_eq(shard_verify(temp_path(&dir, "none.idx", path), 0, &facts, &err), EX_NOINPUT);
    cr_expect_eq(shard_verify(temp_path(&dir, "none", path), 0, &facts, &err), EX_NOINPUT);
    cr_expect_eq(shard_verify(dir.path, 0, &facts, &err), EX_DATAERR);
}

static struct shard_facts sum_of(const char *pattern)
{
    struct shard_facts sum = { 0 }, facts;
    glob_t found;
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct error err = { 0 };
        cr_assert_eq(shard_verify(found.gl_pathv[i], 0, &facts, &err), 0, "%s", err.text);
        sum.documents += facts.documents;
        sum.tokens += facts.tokens;
    }
    globfree(&found);
    return sum;
}

#define SHARED BALLAST_SOURCE_DIR "/../shared/data/megatron/"

Test(verify, shared_shards)
{
    static const struct {
        const char *pattern;
        uint64_t documents, tokens;
    } cases[] = {
        { SHARED "prose-*.idx", 951, 5000814 },
        { SHARED "code-*.idx", 1256, 6006939 },
        { SHARED "wide-int32.idx", 393, 1506165 },
    };
    glob_t found;
    int absent = glob(SHARED "*.idx", 0, NULL, &found);
    globfree(&found);
    if (absent)
        cr_skip_test("../shared/data is not here");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct shard_facts sum = sum_of(cases[c].pattern);
        cr_expect_eq(sum.documents, cases[c].documents, "%s", cases[c].pattern);
        cr_expect_eq(sum.tokens, cases[c].tokens, "%s", cases[c].pattern);
    }
}
