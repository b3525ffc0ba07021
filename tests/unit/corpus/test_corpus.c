/* The corpus as a whole: specs, sums, fingerprint, progress. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "corpus/corpus.h"
#include "one_source.h"
#include "support/shards.h"

static struct temp_dir dir;
static char web_path[TEMP_PATH_BYTES], code_path[TEMP_PATH_BYTES];
static char web_name[64] = "web", code_name[64] = "code";
static char *web_paths[] = { web_path }, *code_paths[] = { code_path };
static struct source_spec specs[2];

static void write_shards(const char *under)
{
    const int32_t web[] = { 7, 8, 9 }, code[] = { 100, 0 };
    char name[64], prefix[TEMP_PATH_BYTES];
    snprintf(name, sizeof name, "%sweb-0", under);
    write_megatron(temp_path(&dir, name, prefix), MEGATRON_U16, web, 3);
    snprintf(name, sizeof name, "%sweb-1", under);
    write_megatron(temp_path(&dir, name, prefix), MEGATRON_U16, web, 2);
    snprintf(name, sizeof name, "%scode", under);
    write_megatron(temp_path(&dir, name, prefix), MEGATRON_I32, code, 2);
    snprintf(name, sizeof name, "%sweb-*.idx", under);
    temp_path(&dir, name, web_path);
    snprintf(name, sizeof name, "%scode.idx", under);
    temp_path(&dir, name, code_path);
}

static void set_up(void)
{
    dir = temp_dir_make();
    write_shards("");
    specs[0] = (struct source_spec){
        .name = web_name, .paths = web_paths, .path_count = 1, .weight = 0.7, .epochs = 2
    };
    specs[1] = (struct source_spec){
        .name = code_name, .paths = code_paths, .path_count = 1, .weight = 0.3
    };
}

static void tear_down(void)
{
    temp_dir_remove(&dir);
}

TestSuite(corpus, .init = set_up, .fini = tear_down);

static struct corpus *open_both(void)
{
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    cr_assert_eq(corpus_open(specs, 2, 50257, NULL, NULL, &corpus, &err), 0, "%s", err.text);
    return corpus;
}

static struct digest fingerprint(void)
{
    struct corpus *corpus = open_both();
    struct digest digest = corpus->fingerprint;
    corpus_close(corpus);
    return digest;
}

/* Cuts a shard's tokens short. */
static void damage(const char *name)
{
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, name, path), "", 0);
}

static void expect_refused(const char *const *fragments)
{
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    cr_assert_eq(corpus_open(specs, 2, 50257, NULL, NULL, &corpus, &err), EX_DATAERR);
    must_say(err.text, fragments);
}

Test(corpus, a_bad_shard_is_left_out_where_that_is_wanted)
{
    damage("web-0.bin");
    expect_refused((const char *const[]){ "source web", "web-0.bin", NULL });
    specs[0].leave_out_bad = specs[1].leave_out_bad = true;
    struct corpus *corpus = open_both();
    const struct source *web = &corpus->sources[0];
    cr_assert_eq(web->shard_count, 1);
    cr_assert_eq(web->documents, 2);
    cr_assert_eq(web->tokens, 15);
    cr_assert_eq(web->left_out_count, 1);
    must_say(web->left_out[0].path, (const char *const[]){ "/web-0.idx", NULL });
    must_say(web->left_out[0].reason, (const char *const[]){ "web-0.bin", "0 bytes", NULL });
    cr_assert_eq(corpus->sources[1].left_out_count, 0);
    cr_assert_eq(source_document_tokens(web, 1), 8);
    unsigned char tokens[16];
    cr_assert_eq(corpus_read(corpus, 0, 1, 0, 8, tokens, NULL), 0);
    corpus_close(corpus);
}

Test(corpus, what_is_left_out_stands_in_the_fingerprint)
{
    specs[0].leave_out_bad = true;
    struct digest whole = fingerprint();
    damage("web-0.bin");
    struct digest without = fingerprint();
    char path[TEMP_PATH_BYTES];
    unlink(temp_path(&dir, "web-0.idx", path));
    struct digest gone = fingerprint();
    cr_assert(!digest_equal(whole, without));
    cr_assert(!digest_equal(gone, without), "left out is not the same as not there");
}

Test(corpus, a_source_needs_one_good_shard)
{
    specs[0].leave_out_bad = true;
    damage("web-0.bin");
    damage("web-1.bin");
    expect_refused((const char *const[]){ "source web", "all of its 2 shards", "web-0.bin", NULL });
}

Test(corpus, paths_that_match_nothing_are_refused_all_the_same)
{
    char nothing[TEMP_PATH_BYTES], *paths[] = { nothing };
    temp_path(&dir, "no-such-*.idx", nothing);
    specs[0].paths = paths;
    specs[0].leave_out_bad = true;
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    cr_assert_eq(corpus_open(specs, 2, 50257, NULL, NULL, &corpus, &err), EX_NOINPUT);
}

static void must_be_bad_spec(size_t count, const char *const *fragments)
{
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    cr_expect_eq(corpus_open(specs, count, 0, NULL, NULL, &corpus, &err), EX_CONFIG);
    cr_expect(corpus == NULL);
    must_say(err.text, fragments);
}

Test(corpus, sums_and_facts)
{
    struct corpus *corpus = open_both();
    cr_expect_eq(corpus->source_count, 2);
    cr_expect_eq(corpus->documents, 7);
    cr_expect_eq(corpus->tokens, 7 + 8 + 9 + 7 + 8 + 100);
    cr_expect_eq(corpus->vocab_size, 50257);
    cr_expect(corpus->has_tokens);
    cr_expect_str_eq(corpus->sources[0].name, "web");
    cr_expect_eq(corpus->sources[0].epochs, 2);
    cr_expect_eq(corpus->sources[0].weight, 734003); /* 0.7 x 2^20, rounded */
    cr_expect_eq(corpus->sources[1].empty_documents, 1);
    corpus_close(corpus);
}

Test(corpus, the_largest_weight_of_a_configuration_is_one_of_the_corpus)
{
    specs[1].weight = 1e9;
    struct corpus *corpus = open_both();
    cr_expect_eq(corpus->sources[1].weight, UINT64_C(1000000000) << 20);
    corpus_close(corpus);
}

Test(corpus, closing_nothing_is_fine)
{
    corpus_close(NULL);
}

Test(corpus, bad_specs_are_refused)
{
    must_be_bad_spec(0, SAYS("sources", "0"));
    strcpy(code_name, "web");
    must_be_bad_spec(2, SAYS("web", "twice"));
    strcpy(code_name, "a b");
    must_be_bad_spec(2, SAYS("'a b'"));
    memset(code_name, 'x', 63);
    code_name[63] = '\0';
    specs[1].weight = 0;
    must_be_bad_spec(2, SAYS("weight is 0"));
    specs[1].weight = -1;
    must_be_bad_spec(2, SAYS("weight is -1"));
    specs[1].weight = NAN;
    must_be_bad_spec(2, SAYS("weight is"));
    specs[1].weight = 1.1e9;
    must_be_bad_spec(2, SAYS("weight is 1.1e+09", "1000000000"));
    specs[1].weight = INFINITY;
    must_be_bad_spec(2, SAYS("weight is inf"));
    specs[1].weight = 1;
    specs[1].path_count = 0;
    must_be_bad_spec(2, SAYS("no paths"));
}

Test(corpus, a_bad_shard_in_the_middle_closes_the_others)
{
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "web-05.idx", path), "nonsense", 8);
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    cr_expect_eq(corpus_open(specs, 2, 0, NULL, NULL, &corpus, &err), EX_DATAERR);
    cr_expect(corpus == NULL);
    must_say(err.text, SAYS("source web", "web-05.idx"));
}

Test(corpus, fingerprint_does_not_depend_on_the_mount_point)
{
    struct digest here = fingerprint();
    char path[TEMP_PATH_BYTES];
    cr_assert_eq(mkdir(temp_path(&dir, "elsewhere", path), 0777), 0);
    write_shards("elsewhere/");
    struct digest there = fingerprint();
    cr_expect(digest_equal(here, there));
}

/* Two documents more or less, another name, another shard: another corpus. */
Test(corpus, fingerprint_changes_with_the_corpus)
{
    struct digest before = fingerprint();
    strcpy(web_name, "webb");
    cr_expect_not(digest_equal(before, fingerprint()));
    strcpy(web_name, "web");
    cr_expect(digest_equal(before, fingerprint()));

    const int32_t same_sum[] = { 8, 7 }, extra[] = { 1 };
    char prefix[TEMP_PATH_BYTES];
    write_megatron(temp_path(&dir, "web-1", prefix), MEGATRON_U16, same_sum, 2);
    struct digest swapped = fingerprint();
    cr_expect_not(digest_equal(before, swapped));
    write_megatron(temp_path(&dir, "web-2", prefix), MEGATRON_U16, extra, 1);
    cr_expect_not(digest_equal(swapped, fingerprint()));
}

/* A change that neither program nor compiler may make unnoticed: plans hang on it. */
Test(corpus, fingerprint_is_stable)
{
    char text[DIGEST_TEXT_BYTES];
    cr_expect_str_eq(digest_text(fingerprint(), text), "9cc85689090c83ca50f5821a4c78016f");
}

struct told {
    int calls;
    uint64_t done, total;
};

static void tell(void *context, const char *path, uint64_t done, uint64_t total)
{
    struct told *told = context;
    cr_expect(strstr(path, ".idx") != NULL);
    cr_expect_gt(done, told->done);
    *told = (struct told){ .calls = told->calls + 1, .done = done, .total = total };
}

Test(corpus, progress_counts_index_bytes)
{
    struct told told = { 0 };
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    cr_assert_eq(corpus_open(specs, 2, 0, tell, &told, &corpus, &err), 0, "%s", err.text);
    corpus_close(corpus);
    cr_expect_eq(told.calls, 3);
    cr_expect_eq(told.done, told.total);
    cr_expect_eq(told.total, (34 + 36 + 32) + (34 + 24 + 24) + (34 + 24 + 24));
}
