/* corpus_read: what is delivered, and what is refused while it is. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

TestSuite(read, .init = set_up, .fini = tear_down);

/* One document of 1000 tokens, of which `at` has `id`. */
static struct corpus *with_id(uint8_t dtype, size_t at, int64_t id, uint32_t vocab_size)
{
    const int32_t lengths[] = { 1000 };
    struct megatron_pair *pair = megatron_pair_new(dtype, lengths, 1);
    /* Ids of i8 end at 127. */
    for (size_t i = 0; i < 1000; i++)
        megatron_pair_set_token(pair, i, (int64_t)(i % 100));
    megatron_pair_set_token(pair, at, id);
    char prefix[TEMP_PATH_BYTES];
    megatron_pair_write(pair, temp_path(&dir, "x", prefix));
    megatron_pair_free(pair);
    return must_open(SOURCE_MEGATRON, &dir, "x.idx", vocab_size);
}

static void must_refuse_id(uint8_t dtype, int64_t id, uint32_t vocab_size,
                           const char *const *fragments)
{
    struct corpus *corpus = with_id(dtype, 777, id, vocab_size);
    uint32_t tokens[1000];
    struct error err = { 0 };
    cr_expect_eq(corpus_read(corpus, 0, 0, 0, 777, tokens, &err), 0, "%s", err.text);
    cr_expect_eq(corpus_read(corpus, 0, 0, 778, 222, tokens, &err), 0, "%s", err.text);
    cr_assert_eq(corpus_read(corpus, 0, 0, 500, 400, tokens, &err), EX_DATAERR);
    must_say(err.text, SAYS("x.bin", "token 777 is"));
    must_say(err.text, fragments);
    corpus_close(corpus);
}

Test(read, ids_beyond_the_vocabulary_are_refused)
{
    must_refuse_id(MEGATRON_U8, 200, 200, SAYS("is 200", "vocab_size 200"));
    must_refuse_id(MEGATRON_U16, 50257, 50257, SAYS("is 50257", "vocab_size 50257"));
    must_refuse_id(MEGATRON_I16, 3000, 3000, SAYS("is 3000", "vocab_size 3000"));
    must_refuse_id(MEGATRON_I32, 65536, 65536, SAYS("is 65536", "vocab_size 65536"));
    must_refuse_id(MEGATRON_I32, 128256, 128256, SAYS("is 128256", "vocab_size 128256"));
    must_refuse_id(MEGATRON_I64, INT64_C(1) << 40, 128256, SAYS("is 1099511627776"));
}

Test(read, negative_ids_are_refused_with_and_without_a_vocabulary)
{
    static const uint8_t types[] = { MEGATRON_I8, MEGATRON_I16, MEGATRON_I32, MEGATRON_I64 };
    static const uint32_t vocabularies[] = { 0, 100, 65536, 100000, UINT32_MAX };
    for (size_t t = 0; t < sizeof types; t++)
        for (size_t v = 0; v < 5; v++)
            must_refuse_id(types[t], -3, vocabularies[v], SAYS("is -3"));
}

Test(read, ids_that_do_not_fit_32_bits_are_refused_without_a_vocabulary)
{
    must_refuse_id(MEGATRON_I64, INT64_C(1) << 32, 0, SAYS("is 4294967296", "4294967295"));
}

Test(read, the_last_id_of_the_vocabulary_is_good)
{
    static const struct {
        uint8_t dtype;
        uint32_t id, vocab_size;
    } cases[] = {
        { MEGATRON_U8, 255, 256 },        { MEGATRON_I8, 127, 128 },
        { MEGATRON_U16, 65535, 65536 },   { MEGATRON_U16, 65535, 0 },
        { MEGATRON_I16, 32767, 40000 },   { MEGATRON_I32, 65535, 65536 },
        { MEGATRON_I32, 128255, 128256 }, { MEGATRON_I32, INT32_MAX, 0 },
        { MEGATRON_I64, UINT32_MAX, 0 },  { MEGATRON_I64, 50256, 50257 },
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct corpus *corpus = with_id(cases[c].dtype, 999, cases[c].id, cases[c].vocab_size);
        union {
            uint16_t narrow;
            uint32_t wide;
        } token;
        struct error err = { 0 };
        cr_assert_eq(corpus_read(corpus, 0, 0, 999, 1, &token, &err), 0, "%s", err.text);
        cr_expect_eq(corpus->token_bytes == 2 ? token.narrow : token.wide, cases[c].id);
        corpus_close(corpus);
    }
}

Test(read, ranges_outside_the_document_are_refused)
{
    const int32_t lengths[] = { 10, 20 };
    char prefix[TEMP_PATH_BYTES];
    write_megatron(temp_path(&dir, "x", prefix), MEGATRON_U16, lengths, 2);
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "x.idx", 256);
    uint16_t tokens[32];
    struct error err = { 0 };
    cr_expect_eq(corpus_read(corpus, 0, 0, 5, 6, tokens, &err), EX_SOFTWARE);
    must_say(err.text, SAYS("6 tokens from token 5", "document 0", "has 10"));
    cr_expect_eq(corpus_read(corpus, 0, 0, 11, 0, tokens, &err), EX_SOFTWARE);
    cr_expect_eq(corpus_read(corpus, 0, 0, UINT64_MAX, 2, tokens, &err), EX_SOFTWARE);
    cr_expect_eq(corpus_read(corpus, 0, 2, 0, 1, tokens, &err), EX_SOFTWARE);
    cr_expect_eq(corpus_read(corpus, 1, 0, 0, 1, tokens, &err), EX_SOFTWARE);
    cr_expect_eq(corpus_read(corpus, 0, 1, 20, 0, tokens, &err), 0);
    corpus_close(corpus);
}

Test(read, a_shard_that_shrinks_is_an_error_value)
{
    const int32_t lengths[] = { 1000, 1000 };
    char path[TEMP_PATH_BYTES];
    for (unsigned t = MEGATRON_I32; t <= MEGATRON_U16; t += MEGATRON_U16 - MEGATRON_I32) {
        unsigned bytes = t == MEGATRON_I32 ? 4 : 2;
        write_megatron(temp_path(&dir, "x", path), (uint8_t)t, lengths, 2);
        struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "x.idx", 256);
        cr_assert_eq(truncate(temp_path(&dir, "x.bin", path), 1500 * bytes), 0);
        uint16_t tokens[1000];
        struct error err = { 0 };
        cr_expect_eq(corpus_read(corpus, 0, 0, 0, 1000, tokens, &err), 0);
        cr_expect_eq(corpus_read(corpus, 0, 1, 0, 1000, tokens, &err), EX_IOERR);
        must_say(err.text, SAYS("x.bin", "shrunk", bytes == 4 ? "byte 6000" : "byte 3000",
                                bytes == 4 ? "8000" : "4000"));
        corpus_close(corpus);
    }
}

enum { READERS = 4, DOCUMENTS = 200, ROUNDS = 500 };

struct reader {
    const struct corpus *corpus;
    unsigned seed;
    unsigned wrong;
};

/* Token i of the shard has the id i % 251; document d has d + 1 tokens. */
static void *read_at_random(void *context)
{
    struct reader *reader = context;
    for (int round = 0; round < ROUNDS; round++) {
        reader->seed = reader->seed * 1103515245u + 12345u;
        uint32_t document = (reader->seed >> 8) % DOCUMENTS;
        uint32_t first = document * (document + 1) / 2;
        uint16_t tokens[DOCUMENTS];
        struct error err = { 0 };
        if (corpus_read(reader->corpus, 0, document, 0, document + 1, tokens, &err))
            reader->wrong++;
        for (uint32_t i = 0; i <= document; i++)
            reader->wrong += tokens[i] != (first + i) % 251;
    }
    return NULL;
}

Test(read, many_threads_at_once)
{
    int32_t lengths[DOCUMENTS];
    for (int i = 0; i < DOCUMENTS; i++)
        lengths[i] = i + 1;
    char prefix[TEMP_PATH_BYTES];
    write_megatron(temp_path(&dir, "x", prefix), MEGATRON_I32, lengths, DOCUMENTS);
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "x.idx", 256);
    pthread_t threads[READERS];
    struct reader readers[READERS];
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = (struct reader){ .corpus = corpus, .seed = i + 1 };
        cr_assert_eq(pthread_create(&threads[i], NULL, read_at_random, &readers[i]), 0);
    }
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(readers[i].wrong, 0);
    }
    corpus_close(corpus);
}
