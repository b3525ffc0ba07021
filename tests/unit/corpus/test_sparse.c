/* Shards beyond 32-bit offsets, and memory that stays flat however large they are. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "corpus/corpus.h"
#include "one_source.h"
#include "support/shards.h"

#define GIB (INT64_C(1) << 30)
#define FLAT_KIB (16 * 1024) /* what opening may add to the peak */

static struct temp_dir dir;

static void set_up(void)
{
    dir = temp_dir_make();
}

static void tear_down(void)
{
    temp_dir_remove(&dir);
}

TestSuite(sparse, .init = set_up, .fini = tear_down);

/* Shadow memory of the thread sanitizer follows every byte that is read. */
#if defined(__SANITIZE_THREAD__)
#define SHADOWED true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHADOWED true
#endif
#endif
#ifndef SHADOWED
#define SHADOWED false
#endif

/* Peak memory of this process, which Criterion started for one test. */
static long peak_kib(void)
{
    struct rusage usage;
    cr_assert_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void must_be_flat_since(long before)
{
    cr_expect(SHADOWED || peak_kib() - before < FLAT_KIB, "%ld KiB more", peak_kib() - before);
}

/* A file of `bytes` zeros that takes no room; the test is skipped where that cannot be. */
static int make_sparse(const char *name, int64_t bytes)
{
    char path[TEMP_PATH_BYTES];
    int fd = open(temp_path(&dir, name, path), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    cr_assert_geq(fd, 0);
    if (ftruncate(fd, bytes)) {
        cr_assert_eq(errno, EFBIG);
        close(fd);
        cr_skip_test("the file system has no files so large");
    }
    return fd;
}

/* x.idx of `count` documents, of `length` tokens each; the data file is the caller's. */
static void write_index(uint8_t dtype, unsigned token_bytes, int32_t length, size_t count)
{
    struct megatron_pair *pair = megatron_pair_new(dtype, NULL, 0);
    pair->lengths = realloc(pair->lengths, count * sizeof *pair->lengths);
    pair->pointers = realloc(pair->pointers, count * sizeof *pair->pointers);
    int64_t *documents = malloc((count + 1) * sizeof *documents);
    for (size_t i = 0; i < count; i++) {
        pair->lengths[i] = length;
        pair->pointers[i] = (int64_t)i * length * token_bytes;
        documents[i] = (int64_t)i;
    }
    documents[count] = (int64_t)count;
    pair->n = pair->sequence_count = count;
    megatron_pair_set_documents(pair, documents, count + 1);
    free(documents);
    pair->without_data_file = true;
    char prefix[TEMP_PATH_BYTES];
    megatron_pair_write(pair, temp_path(&dir, "x", prefix));
    megatron_pair_free(pair);
}

Test(sparse, tokens_beyond_4_gib)
{
    enum { LENGTH = 256 << 20, COUNT = 6 }; /* 1 GiB of i32 each */
    int fd = make_sparse("x.bin", COUNT * GIB);
    const int32_t ids[] = { 11, 12, 99999 };
    int64_t at = 5 * GIB + 4000;
    cr_assert_eq(pwrite(fd, ids, sizeof ids, at), (ssize_t)sizeof ids);
    close(fd);
    write_index(MEGATRON_I32, 4, LENGTH, COUNT);

    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "x.idx", 50257);
    cr_expect_eq(corpus->tokens, COUNT * GIB / 4);
    uint16_t tokens[3];
    struct error err = { 0 };
    cr_assert_eq(corpus_read(corpus, 0, 5, 999, 3, tokens, &err), 0, "%s", err.text);
    cr_expect_eq(tokens[0], 0);
    cr_expect_eq(tokens[1], 11);
    cr_expect_eq(tokens[2], 12);
    cr_expect_eq(corpus_read(corpus, 0, 5, 1000, 3, tokens, &err), EX_DATAERR);
    must_say(err.text, SAYS("token 1342178282 is 99999"));
    corpus_close(corpus);
}

Test(sparse, a_tebibyte_opens_with_flat_memory)
{
    enum { LENGTH = 1 << 30, COUNT = 512 }; /* 2 GiB of u16 each */
    close(make_sparse("x.bin", 1024 * GIB));
    write_index(MEGATRON_U16, 2, LENGTH, COUNT);

    long before = peak_kib();
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "x.idx", 50257);
    cr_expect_eq(corpus->tokens, INT64_C(1) << 39);
    uint16_t token = 1;
    struct error err = { 0 };
    cr_expect_eq(corpus_read(corpus, 0, COUNT - 1, LENGTH - 1, 1, &token, &err), 0, "%s", err.text);
    cr_expect_eq(token, 0);
    must_be_flat_since(before);
    corpus_close(corpus);
}

/*
 * An index of 72 MiB: 6 million sequences of no token (lengths and pointers are zeros, a hole in
 * the file) in one document, and one sequence with the token.
 */
Test(sparse, a_large_index_opens_with_flat_memory)
{
    enum { COUNT = 6 << 20 };
    const int64_t sequences = COUNT + 1, indices = 2, documents[] = { 0, COUNT + 1 };
    const int32_t one = 1;
    int fd = make_sparse("x.idx", 34 + 12 * sequences + 8 * indices);
    const unsigned char head[] = { 'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0,
                                   1,   0,   0,   0,   0,   0,   0,   0, MEGATRON_U8 };
    cr_assert_eq(pwrite(fd, head, 18, 0), 18);
    cr_assert_eq(pwrite(fd, &sequences, 8, 18), 8);
    cr_assert_eq(pwrite(fd, &indices, 8, 26), 8);
    cr_assert_eq(pwrite(fd, &one, 4, 34 + 4 * (sequences - 1)), 4);
    cr_assert_eq(pwrite(fd, documents, 16, 34 + 12 * sequences), 16);
    close(fd);
    close(make_sparse("x.bin", 1));

    long before = peak_kib();
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "x.idx", 0);
    cr_expect_eq(corpus->documents, 1);
    cr_expect_eq(corpus->tokens, 1);
    must_be_flat_since(before);
    corpus_close(corpus);
}
