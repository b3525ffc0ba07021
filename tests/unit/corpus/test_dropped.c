/* Shards that a ledger drops: bad tokens leave the corpus what it was, and only reading them fails.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "corpus/corpus.h"
#include "one_source.h"
#include "support/shards.h"

enum { VOCABULARY = 50257 };

static struct temp_dir dir;
static char web_path[TEMP_PATH_BYTES], sizes_path[TEMP_PATH_BYTES];
static char web_name[] = "web", sizes_name[] = "sizes";
static char *web_paths[] = { web_path }, *sizes_paths[] = { sizes_path };
static struct source_spec specs[2];
static const struct dropped_shard second = { .number = 1, .name = "web-1.idx" };

static const int32_t lengths[] = { 7, 0, 9 };

static void set_up(void)
{
    char path[TEMP_PATH_BYTES];
    dir = temp_dir_make();
    write_megatron(temp_path(&dir, "web-0", path), MEGATRON_U16, lengths, 3);
    write_megatron(temp_path(&dir, "web-1", path), MEGATRON_I32, lengths, 3);
    write_megatron(temp_path(&dir, "web-2", path), MEGATRON_U8, lengths, 2);
    temp_path(&dir, "web-*.idx", web_path);
    file_write(temp_path(&dir, "web-1.idx.txt", sizes_path), "3\n4\n", 4);
    specs[0] = (struct source_spec){ .name = web_name,
                                     .paths = web_paths,
                                     .path_count = 1,
                                     .weight = 1,
                                     .dropped = &second,
                                     .dropped_count = 1 };
    specs[1] = (struct source_spec){ .name = sizes_name,
                                     .format = SOURCE_LENGTHS,
                                     .paths = sizes_paths,
                                     .path_count = 1,
                                     .weight = 1 };
}

static void tear_down(void)
{
    temp_dir_remove(&dir);
}

TestSuite(dropped, .init = set_up, .fini = tear_down);

static struct corpus *open_web(void)
{
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    cr_assert_eq(corpus_open(specs, 1, VOCABULARY, NULL, NULL, &corpus, &err), 0, "%s", err.text);
    return corpus;
}

static void must_not_open(int code, const char *const *fragments)
{
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    cr_assert_eq(corpus_open(specs, 1, VOCABULARY, NULL, NULL, &corpus, &err), code, "%s",
                 err.text);
    must_say(err.text, fragments);
}

static int descriptors(void)
{
    DIR *list = opendir("/proc/self/fd");
    int count = 0;
    cr_assert(list != NULL);
    while (readdir(list))
        count++;
    closedir(list);
    return count;
}

/* ---- what may be wrong with the tokens of a shard ---- */

static void lose(const char *path)
{
    cr_assert_eq(unlink(path), 0);
}

static void empty(const char *path)
{
    cr_assert_eq(truncate(path, 0), 0);
}

static void cut(const char *path)
{
    cr_assert_eq(truncate(path, 63), 0);
}

static void lengthen(const char *path)
{
    cr_assert_eq(truncate(path, 65), 0);
}

static void make_directory(const char *path)
{
    lose(path);
    cr_assert_eq(mkdir(path, 0777), 0);
}

static void make_fifo(const char *path)
{
    lose(path);
    cr_assert_eq(mkfifo(path, 0666), 0);
}

static void link_nowhere(const char *path)
{
    lose(path);
    cr_assert_eq(symlink("nowhere", path), 0);
}

static const struct {
    void (*damage)(const char *path);
    const char *reason;
} faults[] = {
    { lose, "No such file" },          { empty, "has 0 bytes, expected 64" },
    { cut, "has 63 bytes" },           { lengthen, "has 65 bytes" },
    { make_directory, "a directory" }, { make_fifo, "a FIFO" },
    { link_nowhere, "No such file" },
};

enum { FAULTS = sizeof faults / sizeof *faults };

static void damage(size_t fault)
{
    char path[TEMP_PATH_BYTES];
    faults[fault].damage(temp_path(&dir, "web-1.bin", path));
}

static void mend(void)
{
    char path[TEMP_PATH_BYTES];
    remove(temp_path(&dir, "web-1.bin", path));
    write_megatron(temp_path(&dir, "web-1", path), MEGATRON_I32, lengths, 3);
}

/* ---- what is left of it ---- */

static void expect_same_facts(const struct corpus *corpus, const struct corpus *whole)
{
    const struct source *web = &corpus->sources[0], *good = &whole->sources[0];
    cr_assert(digest_equal(corpus->fingerprint, whole->fingerprint));
    cr_assert(digest_equal(source_fingerprint(web), source_fingerprint(good)));
    cr_assert_eq(web->shard_count, good->shard_count);
    cr_assert_eq(web->left_out_count, 0);
    cr_assert_eq(web->documents, good->documents);
    cr_assert_eq(web->empty_documents, good->empty_documents);
    cr_assert_eq(web->tokens, good->tokens);
    cr_assert_eq(corpus->token_bytes, whole->token_bytes);
    for (uint64_t document = 0; document < good->documents; document++)
        cr_assert_eq(source_document_tokens(web, document), source_document_tokens(good, document));
}

/* Documents 3 to 5 are those of the second shard. */
static void expect_reads(const struct corpus *corpus, const char *reason)
{
    uint32_t tokens[16];
    for (uint64_t document = 0; document < corpus->documents; document++) {
        struct error err = { 0 };
        uint32_t count = (uint32_t)source_document_tokens(&corpus->sources[0], document);
        bool bad = reason && document >= 3 && document < 6;
        int code = corpus_read(corpus, 0, document, 0, count, tokens, &err);
        cr_assert_eq(code, bad ? EX_IOERR : 0, "%d: %s", code, err.text);
        if (bad)
            must_say(err.text, SAYS("/web-1.bin", reason, "mend it"));
    }
}

Test(dropped, bad_tokens_leave_the_corpus_what_it_was)
{
    for (size_t i = 0; i < FAULTS; i++) {
        struct corpus *whole = open_web();
        damage(i);
        int before = descriptors();
        struct corpus *corpus = open_web();
        cr_assert_eq(descriptors(), before + 2, "one for each shard that can be read");
        expect_same_facts(corpus, whole);
        const struct source *web = &corpus->sources[0];
        cr_assert_eq(web->unread_count, 1);
        must_say(web->unread[0].path, SAYS("/web-1.idx"));
        must_say(web->unread[0].reason, SAYS("/web-1.bin", faults[i].reason));
        expect_reads(corpus, faults[i].reason);
        corpus_close(corpus);
        cr_assert_eq(descriptors(), before);
        corpus_close(whole);
        mend();
    }
}

Test(dropped, a_good_shard_is_opened_whole)
{
    struct corpus *corpus = open_web();
    cr_assert_eq(corpus->sources[0].unread_count, 0);
    expect_reads(corpus, NULL);
    corpus_close(corpus);
}

Test(dropped, mended_tokens_are_read_after_the_next_start)
{
    damage(0);
    struct corpus *bad = open_web();
    mend();
    expect_reads(bad, "No such file");
    struct corpus *mended = open_web();
    expect_same_facts(bad, mended);
    expect_reads(mended, NULL);
    corpus_close(bad);
    corpus_close(mended);
}

Test(dropped, what_is_skipped_at_the_start_is_not_left_out)
{
    struct corpus *whole = open_web();
    specs[0].leave_out_bad = true;
    damage(1);
    struct corpus *corpus = open_web();
    expect_same_facts(corpus, whole);
    corpus_close(corpus);
    corpus_close(whole);
}

Test(dropped, a_bad_index_is_a_bad_shard)
{
    char path[TEMP_PATH_BYTES];
    damage(0);
    file_write(temp_path(&dir, "web-1.idx", path), "nonsense", 8);
    must_not_open(EX_DATAERR, SAYS("source web", "web-1.idx"));
    specs[0].leave_out_bad = true;
    struct corpus *corpus = open_web();
    cr_assert_eq(corpus->sources[0].unread_count, 0);
    cr_assert_eq(corpus->sources[0].left_out_count, 1);
    corpus_close(corpus);
    cr_assert_eq(unlink(path), 0);
    specs[0].leave_out_bad = false;
    temp_path(&dir, "web-1.idx", web_path);
    must_not_open(EX_NOINPUT, SAYS("web-1.idx"));
}

/* The index of another run tells other lengths: the corpus is another one, whoever reads it. */
Test(dropped, another_index_is_another_corpus)
{
    const int32_t others[] = { 9, 0, 7 };
    char path[TEMP_PATH_BYTES];
    struct corpus *before = open_web();
    write_megatron(temp_path(&dir, "web-1", path), MEGATRON_I32, others, 3);
    damage(0);
    struct corpus *corpus = open_web();
    cr_assert_not(digest_equal(corpus->fingerprint, before->fingerprint));
    corpus_close(corpus);
    corpus_close(before);
}

Test(dropped, number_and_name_must_both_be_right)
{
    static const struct dropped_shard others[] = {
        { 0, "web-1.idx" }, { 2, "web-1.idx" }, { 1, "web-2.idx" }, { 1, "web-1" }, { 3, "" },
    };
    damage(0);
    specs[0].dropped = others;
    specs[0].dropped_count = sizeof others / sizeof *others;
    must_not_open(EX_NOINPUT, SAYS("source web", "web-1.bin"));
    specs[0].dropped_count = 0;
    must_not_open(EX_NOINPUT, SAYS("source web", "web-1.bin"));
}

/* Shards that were left out at the start have no number. */
Test(dropped, numbers_are_those_of_the_shards_that_are_there)
{
    static const struct dropped_shard first = { 0, "web-1.idx" };
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "web-0.idx", path), "nonsense", 8);
    damage(0);
    specs[0].leave_out_bad = true;
    specs[0].dropped = &first;
    struct corpus *corpus = open_web();
    cr_assert_eq(corpus->sources[0].left_out_count, 1);
    cr_assert_eq(corpus->sources[0].unread_count, 1);
    corpus_close(corpus);
}

Test(dropped, names_that_folders_share_are_told_apart_by_number)
{
    const int32_t length = 5;
    char path[TEMP_PATH_BYTES], other[TEMP_PATH_BYTES], *paths[] = { web_path, other };
    cr_assert_eq(mkdir(temp_path(&dir, "b", path), 0777), 0);
    write_megatron(temp_path(&dir, "b/web-1", path), MEGATRON_U16, &length, 1);
    temp_path(&dir, "b/*.idx", other);
    specs[0].paths = paths;
    specs[0].path_count = 2;
    damage(0);
    must_not_open(EX_NOINPUT, SAYS("/web-1.bin"));
    const struct dropped_shard third = { 2, "web-1.idx" }; /* b/web-1.idx is the first */
    specs[0].dropped = &third;
    struct corpus *corpus = open_web();
    cr_assert_eq(corpus->sources[0].unread_count, 1);
    corpus_close(corpus);
}

Test(dropped, every_shard_of_a_source_may_be_bad)
{
    static const struct dropped_shard all[] = { { 0, "web-0.idx" },
                                                { 1, "web-1.idx" },
                                                { 2, "web-2.idx" } };
    struct corpus *whole = open_web();
    char path[TEMP_PATH_BYTES];
    damage(0);
    lose(temp_path(&dir, "web-0.bin", path));
    lose(temp_path(&dir, "web-2.bin", path));
    specs[0].dropped = all;
    specs[0].dropped_count = 3;
    struct corpus *corpus = open_web();
    expect_same_facts(corpus, whole);
    cr_assert_eq(corpus->sources[0].unread_count, 3);
    corpus_close(corpus);
    corpus_close(whole);
}

/* A file of lengths has no tokens that could be bad, only an index. */
Test(dropped, lengths_are_as_ever)
{
    static const struct dropped_shard only = { 0, "web-1.idx.txt" };
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    specs[1].dropped = &only;
    specs[1].dropped_count = 1;
    damage(0);
    cr_assert_eq(corpus_open(specs, 2, VOCABULARY, NULL, NULL, &corpus, &err), 0, "%s", err.text);
    cr_assert_eq(corpus->sources[0].unread_count, 1);
    cr_assert_eq(corpus->sources[1].unread_count, 0);
    cr_assert_eq(corpus->sources[1].tokens, 7);
    corpus_close(corpus);
    file_write(sizes_path, "x\n", 2);
    cr_assert_eq(corpus_open(specs, 2, VOCABULARY, NULL, NULL, &corpus, &err), EX_DATAERR);
}

Test(dropped, an_index_that_is_cut_short_later_is_told)
{
    char path[TEMP_PATH_BYTES];
    struct error err = { 0 };
    damage(0);
    struct corpus *corpus = open_web();
    cr_assert_eq(corpus_check(corpus, &err), 0);
    cr_assert_eq(truncate(temp_path(&dir, "web-1.idx", path), 0), 0);
    source_document_tokens(&corpus->sources[0], 4);
    cr_assert_eq(corpus_check(corpus, &err), EX_IOERR);
    must_say(err.text, SAYS("web-1.idx"));
    corpus_close(corpus);
}

/* A machine that has run out of descriptors says nothing of the shard. */
Test(dropped, running_out_of_descriptors_is_no_bad_shard)
{
    int next = dup(0);
    cr_assert_geq(next, 0);
    close(next);
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)next + 2; /* the first shard's data, the second's index */
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    int code = corpus_open(specs, 1, VOCABULARY, NULL, NULL, &corpus, &err);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    cr_expect_eq(code, EX_OSERR, "%d: %s", code, err.text);
    must_say(err.text, SAYS("web-1.bin", "Too many open files"));
}
