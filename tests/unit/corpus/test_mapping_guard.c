/* Indices that change under their mapping: an error that names the shard, never a signal. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "one_source.h"
#include "support/shards.h"
#include "support/temp_dir.h"

#define DOCUMENTS 20000 /* an index of many pages */

static struct temp_dir dir;

static void set_up(void)
{
    dir = temp_dir_make();
    int32_t *lengths = calloc(DOCUMENTS, sizeof *lengths);
    cr_assert_not_null(lengths);
    for (size_t i = 0; i < DOCUMENTS; i++)
        lengths[i] = 1 + (int32_t)(i % 5);
    char prefix[TEMP_PATH_BYTES];
    write_megatron(temp_path(&dir, "a", prefix), MEGATRON_U16, lengths, DOCUMENTS);
    write_megatron(temp_path(&dir, "b", prefix), MEGATRON_U16, lengths, DOCUMENTS);
    free(lengths);
}

static void tear_down(void)
{
    temp_dir_remove(&dir);
}

TestSuite(mapping_guard, .init = set_up, .fini = tear_down);

static void cut(const char *name)
{
    char path[TEMP_PATH_BYTES];
    cr_assert_eq(truncate(temp_path(&dir, name, path), 100), 0);
}

static void expect_refused(const struct corpus *corpus, const char *name)
{
    struct error err = { 0 };
    cr_assert_eq(corpus_check(corpus, &err), EX_IOERR);
    must_say(err.text, SAYS("shard", name, "since it was opened", "rename"));
}

Test(mapping_guard, an_index_cut_short_reads_as_empty_and_is_refused)
{
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "a.idx", 0);
    cr_expect_eq(source_document_tokens(&corpus->sources[0], DOCUMENTS - 1), 5);
    cr_assert_eq(corpus_check(corpus, NULL), 0);
    cut("a.idx");
    for (uint64_t i = 0; i < DOCUMENTS; i++)
        cr_assert_eq(source_document_tokens(&corpus->sources[0], i), 0);
    expect_refused(corpus, "a.idx");
    corpus_close(corpus);
}

Test(mapping_guard, tokens_are_not_read_by_a_broken_index)
{
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "a.idx", 0);
    cut("a.idx");
    uint32_t token;
    struct error err = { 0 };
    cr_assert_eq(corpus_read(corpus, 0, DOCUMENTS - 1, 0, 1, &token, &err), EX_IOERR);
    must_say(err.text, SAYS("a.idx", "since it was opened"));
    corpus_close(corpus);
}

Test(mapping_guard, one_broken_index_leaves_the_others_whole)
{
    struct corpus *broken = must_open(SOURCE_MEGATRON, &dir, "a.idx", 0);
    struct corpus *whole = must_open(SOURCE_MEGATRON, &dir, "b.idx", 0);
    cut("a.idx");
    cr_expect_eq(source_document_tokens(&broken->sources[0], DOCUMENTS - 1), 0);
    expect_refused(broken, "a.idx");
    cr_expect_eq(source_document_tokens(&whole->sources[0], DOCUMENTS - 1), 5);
    cr_expect_eq(corpus_check(whole, NULL), 0);
    corpus_close(broken);
    /* The next to be opened takes the guard over, without what it knew. */
    struct corpus *next = must_open(SOURCE_MEGATRON, &dir, "b.idx", 0);
    cr_expect_eq(corpus_check(next, NULL), 0);
    corpus_close(next);
    corpus_close(whole);
}

Test(mapping_guard, an_index_overwritten_by_nonsense_is_refused_once_it_shows)
{
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "a.idx", 0);
    char path[TEMP_PATH_BYTES];
    size_t bytes;
    unsigned char *index = file_read_all(temp_path(&dir, "a.idx", path), &bytes);
    int fd = open(path, O_WRONLY); /* in place: file_write would cut it short first */
    cr_assert_geq(fd, 0);
    memset(index + 34, 0x7f, bytes - 34);
    cr_assert_eq(write(fd, index, bytes), (ssize_t)bytes);
    close(fd);
    free(index);
    cr_expect_eq(source_document_tokens(&corpus->sources[0], 7), 0);
    expect_refused(corpus, "a.idx");
    corpus_close(corpus);
}

/* Reads behind the end of a mapped file of its own; ends well only if nobody minds. */
static void fault_elsewhere(const char *path)
{
    close(STDERR_FILENO); /* sanitizers tell at length */
    int fd = open(path, O_RDONLY);
    const volatile char *bytes = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED || truncate(path, 0))
        _exit(0);
    (void)bytes[0];
    _exit(0);
}

Test(mapping_guard, a_fault_elsewhere_is_still_deadly)
{
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "a.idx", 0);
    char path[TEMP_PATH_BYTES];
    temp_path(&dir, "b.idx", path);
    pid_t child = fork();
    if (child == 0)
        fault_elsewhere(path);
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    corpus_close(corpus);
}
