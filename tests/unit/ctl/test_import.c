/* Text files made into a shard, read back through the corpus. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "corpus/corpus.h"
#include "ctl/import.h"
#include "support/temp_dir.h"

static struct temp_dir dir; /* holds in/, the text, and out/, the shard */
static char prefix[TEMP_PATH_BYTES], input[TEMP_PATH_BYTES];

static const char *in(const char *name, char path[TEMP_PATH_BYTES])
{
    char under[64];
    snprintf(under, sizeof under, "in/%s", name);
    return temp_path(&dir, under, path);
}

static void write_text(const char *name, const char *text)
{
    char path[TEMP_PATH_BYTES];
    file_write(in(name, path), text, strlen(text));
}

static void write_gzip(const char *name, const char *text)
{
    char path[TEMP_PATH_BYTES];
    gzFile file = gzopen(in(name, path), "wb");
    cr_assert(file != NULL);
    cr_assert_eq(gzwrite(file, text, (unsigned)strlen(text)), (int)strlen(text));
    cr_assert_eq(gzclose(file), Z_OK);
}

static void set_up(void)
{
    char path[TEMP_PATH_BYTES];
    dir = temp_dir_make();
    cr_assert_eq(mkdir(temp_path(&dir, "in", input), 0777), 0);
    cr_assert_eq(mkdir(temp_path(&dir, "out", path), 0777), 0);
    temp_path(&dir, "out/text", prefix);
}

static void tear_down(void)
{
    temp_dir_remove(&dir);
}

TestSuite(import, .init = set_up, .fini = tear_down);

static struct import_facts must_import(void)
{
    char *paths[] = { input };
    struct import_facts facts = { 0 };
    struct error err = { 0 };
    int code = import_text(prefix, paths, 1, NULL, NULL, &facts, &err);
    cr_assert_eq(code, 0, "%d: %s", code, err.text);
    return facts;
}

static void must_fail(char *path, int code, const char *fragment)
{
    char *paths[] = { path };
    struct import_facts facts = { .tokens = 42 };
    struct error err = { 0 };
    int got = import_text(prefix, paths, 1, NULL, NULL, &facts, &err);
    cr_expect_eq(got, code, "%d: %s", got, err.text);
    cr_expect_eq(facts.tokens, 42);
    cr_expect(strstr(err.text, fragment) != NULL, "'%s' is not in '%s'", fragment, err.text);
}

/* How many files lie in out/. */
static int files_left(void)
{
    char path[TEMP_PATH_BYTES];
    DIR *listing = opendir(temp_path(&dir, "out", path));
    cr_assert(listing != NULL);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(listing));)
        count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

static struct corpus *open_shard(void)
{
    char name[] = "text", path[TEMP_PATH_BYTES + 4];
    snprintf(path, sizeof path, "%s.idx", prefix);
    char *paths[] = { path };
    struct source_spec spec = { .name = name, .paths = paths, .path_count = 1, .weight = 1 };
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    cr_assert_eq(corpus_open(&spec, 1, IMPORT_VOCAB_SIZE, NULL, NULL, &corpus, &err), 0, "%s",
                 err.text);
    return corpus;
}

/* The documents of the shard are these texts, each followed by its end, in this order. */
static void must_hold(const char *const *texts, size_t count)
{
    struct corpus *corpus = open_shard();
    cr_assert_eq(corpus->documents, count);
    for (size_t d = 0; d < count; d++) {
        uint32_t length = (uint32_t)strlen(texts[d]);
        cr_assert_eq(source_document_tokens(&corpus->sources[0], d), length + 1);
        uint16_t *tokens = malloc((length + 1) * sizeof *tokens);
        struct error err = { 0 };
        cr_assert(tokens != NULL);
        cr_assert_eq(corpus_read(corpus, 0, d, 0, length + 1, tokens, &err), 0, "%s", err.text);
        for (uint32_t i = 0; i < length; i++)
            cr_assert_eq(tokens[i], (unsigned char)texts[d][i]);
        cr_expect_eq(tokens[length], IMPORT_END_OF_DOCUMENT);
        free(tokens);
    }
    corpus_close(corpus);
}

Test(import, every_file_is_a_document_in_order_of_name)
{
    char path[TEMP_PATH_BYTES];
    write_text("b.txt", "bee");
    write_text("a.txt", "\xff\x01 high bytes");
    cr_assert_eq(mkdir(in("aa", path), 0777), 0);
    write_text("aa/z", "deep");
    write_text("aa/empty", "");
    struct import_facts facts = must_import();
    cr_expect_eq(facts.documents, 3);
    cr_expect_eq(facts.tokens, 4 + 14 + 5);
    cr_expect_eq(facts.skipped, 1);
    must_hold((const char *[]){ "\xff\x01 high bytes", "deep", "bee" }, 3);
    cr_expect_eq(files_left(), 2);
}

Test(import, gzip_is_unpacked)
{
    write_gzip("a.gz", "packed");
    write_gzip("b.gz", "");
    write_text("c.gz", "not packed at all");
    struct import_facts facts = must_import();
    cr_expect_eq(facts.skipped, 1);
    must_hold((const char *[]){ "packed", "not packed at all" }, 2);
}

Test(import, text_longer_than_any_buffer)
{
    enum { BYTES = 300001 };
    char *text = malloc(BYTES + 1);
    cr_assert(text != NULL);
    for (int i = 0; i < BYTES; i++)
        text[i] = (char)('a' + i % 23);
    text[BYTES] = '\0';
    write_text("plain", text);
    write_gzip("plain.gz", text);
    must_import();
    must_hold((const char *[]){ text, text }, 2);
    free(text);
}

Test(import, what_is_no_file_is_passed_over)
{
    char target[TEMP_PATH_BYTES], path[TEMP_PATH_BYTES];
    write_text("a", "text");
    cr_assert_eq(symlink(in("a", target), in("link", path)), 0);
    cr_assert_eq(symlink(input, in("loop", path)), 0);
    cr_assert_eq(mkfifo(in("fifo", path), 0666), 0);
    struct import_facts facts = must_import();
    cr_expect_eq(facts.documents, 1);
    cr_expect_eq(facts.skipped, 3);
}

Test(import, arguments_keep_their_order_and_may_be_links)
{
    char first[TEMP_PATH_BYTES], second[TEMP_PATH_BYTES], link[TEMP_PATH_BYTES];
    write_text("b", "one");
    write_text("a", "two");
    in("b", first);
    cr_assert_eq(symlink(in("a", second), temp_path(&dir, "link", link)), 0);
    char *paths[] = { first, link };
    struct import_facts facts;
    struct error err = { 0 };
    cr_assert_eq(import_text(prefix, paths, 2, NULL, NULL, &facts, &err), 0, "%s", err.text);
    must_hold((const char *[]){ "one", "two" }, 2);
}

/* The shard may lie in the directory that is read, now and the next time. */
Test(import, the_shard_itself_is_not_read)
{
    write_text("a", "text");
    in("shard", prefix);
    for (int i = 0; i < 2; i++) {
        struct import_facts facts = must_import();
        cr_expect_eq(facts.documents, 1);
    }
    must_hold((const char *[]){ "text" }, 1);
}

Test(import, an_older_pair_is_replaced)
{
    write_text("a", "old");
    must_import();
    write_text("a", "new and longer");
    must_import();
    must_hold((const char *[]){ "new and longer" }, 1);
    cr_expect_eq(files_left(), 2);
}

Test(import, nothing_found_leaves_nothing)
{
    char path[TEMP_PATH_BYTES];
    must_fail(input, EX_NOINPUT, "no text");
    write_text("empty", "");
    must_fail(input, EX_NOINPUT, "no text");
    temp_path(&dir, "absent", path);
    must_fail(path, EX_NOINPUT, "absent");
    cr_expect_eq(files_left(), 0);
}

Test(import, a_damaged_gzip_leaves_the_older_pair)
{
    char path[TEMP_PATH_BYTES];
    write_text("a", "kept");
    must_import();
    write_gzip("b.gz", "so long that something is lost when the end is cut away");
    cr_assert_eq(truncate(in("b.gz", path), 30), 0);
    must_fail(input, EX_DATAERR, "b.gz");
    must_hold((const char *[]){ "kept" }, 1);
    cr_expect_eq(files_left(), 2);
}

Test(import, a_place_that_cannot_be_written)
{
    write_text("a", "text");
    temp_path(&dir, "no/such/place", prefix);
    must_fail(input, EX_CANTCREAT, "no/such/place");
}

static bool stop_after_two(void *context, const char *path, const struct import_facts *so_far)
{
    cr_expect(strstr(path, "in/") != NULL);
    *(uint64_t *)context = so_far->documents;
    return so_far->documents < 2;
}

Test(import, progress_is_told_and_can_stop)
{
    write_text("a", "1");
    write_text("b", "2");
    write_text("c", "3");
    char *paths[] = { input };
    uint64_t seen = 0;
    struct import_facts facts;
    struct error err = { 0 };
    cr_expect_eq(import_text(prefix, paths, 1, stop_after_two, &seen, &facts, &err), EX_TEMPFAIL);
    cr_expect_eq(seen, 2);
    cr_expect_eq(files_left(), 0);
}
