/*
 * A Megatron index of any bytes. The first two bytes of an input are the size of the `.bin`, the
 * rest is the `.idx`. What opens must be consistent: documents add up to the tokens, and reading
 * every one of them gives tokens or an error. As a dropped shard it opens too, whatever the size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "corpus/corpus.h"
#include "fuzz/fuzz.h"
#include "support/temp_dir.h"

#define MOST_READ 512 /* tokens of one document */
#define MOST_DOCUMENTS 4096

/* The pair lives in memory, behind links with the right names: thousands of inputs a second. */
static struct temp_dir dir;
static int index_fd, data_fd;

static void remove_dir(void)
{
    temp_dir_remove(&dir);
}

static int make_memory_file(const char *name)
{
    char path[TEMP_PATH_BYTES], target[64];
    int fd = memfd_create(name, MFD_CLOEXEC);
    snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
    if (fd < 0 || symlink(target, temp_path(&dir, name, path)))
        abort();
    return fd;
}

static void make_pair_once(void)
{
    if (dir.path[0])
        return;
    dir = temp_dir_make();
    atexit(remove_dir);
    index_fd = make_memory_file("x.idx");
    data_fd = make_memory_file("x.bin");
}

static void fill(int fd, const void *bytes, size_t count)
{
    if (ftruncate(fd, 0) || pwrite(fd, bytes, count, 0) != (ssize_t)count)
        abort();
}

static void read_documents(const struct corpus *corpus)
{
    const struct source *source = &corpus->sources[0];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < source->documents && i < MOST_DOCUMENTS; i++) {
        uint64_t tokens = source_document_tokens(source, i);
        uint32_t count = tokens < MOST_READ ? (uint32_t)tokens : MOST_READ;
        uint32_t out[MOST_READ];
        struct error err = { 0 };
        int code = corpus_read(corpus, 0, i, tokens - count, count, out, &err);
        if (source->unread_count ? code != EX_IOERR : code != 0 && code != EX_DATAERR)
            abort(); /* an id may be bad; nothing else can be */
        sum += tokens;
    }
    if (source->documents <= MOST_DOCUMENTS && sum != source->tokens)
        abort();
}

/* True when it opens. */
static bool try_open(char *path, uint32_t vocab_size, size_t dropped_count)
{
    static const struct dropped_shard dropped = { .number = 0, .name = "x.idx" };
    char name[] = "fuzz", *paths[] = { path };
    struct source_spec spec = { .name = name,
                                .paths = paths,
                                .path_count = 1,
                                .weight = 1,
                                .dropped = &dropped,
                                .dropped_count = dropped_count };
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    if (corpus_open(&spec, 1, vocab_size, NULL, NULL, &corpus, &err)) {
        if (corpus || err.code != EX_DATAERR || err.text[0] == '\0')
            abort();
        return false;
    }
    read_documents(corpus);
    corpus_close(corpus);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    if (count < 2)
        return 0;
    make_pair_once();
    uint16_t data_bytes;
    memcpy(&data_bytes, bytes, sizeof data_bytes);
    static uint8_t data[UINT16_MAX];
    for (size_t i = 0; i < data_bytes; i++)
        data[i] = (uint8_t)(i * 7);
    fill(data_fd, data, data_bytes);
    fill(index_fd, bytes + sizeof data_bytes, count - sizeof data_bytes);
    char path[TEMP_PATH_BYTES];
    temp_path(&dir, "x.idx", path);
    bool opens = try_open(path, 0, 0);
    if (try_open(path, 1000, 0) != opens || (!try_open(path, 0, 1) && opens))
        abort();
    return 0;
}
