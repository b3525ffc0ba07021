/* Good Megatron pairs: what is in the files is what the corpus tells. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

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

TestSuite(megatron, .init = set_up, .fini = tear_down);

static void write_pair(const struct megatron_pair *pair, const char *name)
{
    char prefix[TEMP_PATH_BYTES];
    megatron_pair_write(pair, temp_path(&dir, name, prefix));
}

Test(megatron, every_integer_type_opens_and_reads_alike)
{
    static const uint8_t types[] = { MEGATRON_U8,  MEGATRON_I8,  MEGATRON_I16,
                                     MEGATRON_I32, MEGATRON_I64, MEGATRON_U16 };
    static const uint32_t vocabularies[] = { 0, 127, 65536, 70000 };
    const int32_t lengths[] = { 5, 1, 100 };
    for (size_t t = 0; t < sizeof types; t++) {
        char prefix[TEMP_PATH_BYTES], name[16];
        snprintf(name, sizeof name, "t%u", types[t]);
        write_megatron(temp_path(&dir, name, prefix), types[t], lengths, 3);
        snprintf(name, sizeof name, "t%u.idx", types[t]);
        for (size_t v = 0; v < 4; v++) {
            struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, name, vocabularies[v]);
            cr_expect_eq(corpus->tokens, 106);
            cr_expect_eq(corpus->token_bytes,
                         vocabularies[v] == 0 || vocabularies[v] > 65536 ? 4u : 2u);
            union {
                uint16_t narrow[100];
                uint32_t wide[100];
            } tokens;
            struct error err = { 0 };
            /* The third document holds ids 6 to 105 (ids count up through the shard). */
            cr_assert_eq(corpus_read(corpus, 0, 2, 10, 90, &tokens, &err), 0, "%s", err.text);
            for (uint32_t i = 0; i < 90; i++)
                cr_expect_eq(corpus->token_bytes == 2 ? tokens.narrow[i] : tokens.wide[i], 16 + i);
            corpus_close(corpus);
        }
    }
}

Test(megatron, sequences_of_a_document_are_one_document)
{
    const int32_t lengths[] = { 3, 4, 0, 5, 6 };
    const int64_t documents[] = { 0, 2, 4, 5 };
    struct megatron_pair *pair = megatron_pair_new(MEGATRON_U16, lengths, 5);
    megatron_pair_set_documents(pair, documents, 4);
    write_pair(pair, "multi");
    megatron_pair_free(pair);

    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "multi.idx", 256);
    const struct source *source = &corpus->sources[0];
    cr_assert_eq(source->documents, 3);
    cr_expect_eq(source->empty_documents, 0);
    cr_expect_eq(source_document_tokens(source, 0), 7);
    cr_expect_eq(source_document_tokens(source, 1), 5);
    cr_expect_eq(source_document_tokens(source, 2), 6);
    uint16_t tokens[5];
    struct error err = { 0 };
    cr_assert_eq(corpus_read(corpus, 0, 1, 0, 5, tokens, &err), 0, "%s", err.text);
    for (uint16_t i = 0; i < 5; i++)
        cr_expect_eq(tokens[i], 7 + i);
    corpus_close(corpus);
}

Test(megatron, empty_documents_are_legal_and_counted)
{
    const int32_t lengths[] = { 0, 3, 0, 4 };
    /* First document: one sequence of no tokens; third: no sequence; fourth: again no tokens. */
    const int64_t documents[] = { 0, 1, 2, 2, 3, 4, 4 };
    struct megatron_pair *pair = megatron_pair_new(MEGATRON_I32, lengths, 4);
    megatron_pair_set_documents(pair, documents, 7);
    write_pair(pair, "empties");
    megatron_pair_free(pair);

    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "empties.idx", 0);
    const struct source *source = &corpus->sources[0];
    static const uint64_t expected[] = { 0, 3, 0, 0, 4, 0 };
    cr_assert_eq(source->documents, 6);
    cr_expect_eq(source->empty_documents, 4);
    cr_expect_eq(source->tokens, 7);
    for (uint64_t i = 0; i < 6; i++)
        cr_expect_eq(source_document_tokens(source, i), expected[i], "document %lu",
                     (unsigned long)i);
    struct error err = { 0 };
    cr_expect_eq(corpus_read(corpus, 0, 5, 0, 0, NULL, &err), 0, "%s", err.text);
    corpus_close(corpus);
}

Test(megatron, documents_count_over_shards_and_empty_shards)
{
    const int32_t first[] = { 2, 3 }, last[] = { 4 };
    char prefix[TEMP_PATH_BYTES];
    write_megatron(temp_path(&dir, "a", prefix), MEGATRON_U16, first, 2);
    write_megatron(temp_path(&dir, "b", prefix), MEGATRON_U16, NULL, 0);
    write_megatron(temp_path(&dir, "c", prefix), MEGATRON_I32, last, 1);

    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "*.idx", 1000);
    const struct source *source = &corpus->sources[0];
    cr_assert_eq(source->shard_count, 3);
    cr_assert_eq(source->documents, 3);
    cr_expect_eq(source->first_document[1], 2);
    cr_expect_eq(source->first_document[3], 3);
    cr_expect_eq(source_document_tokens(source, 1), 3);
    cr_expect_eq(source_document_tokens(source, 2), 4);
    uint16_t tokens[4];
    struct error err = { 0 };
    cr_assert_eq(corpus_read(corpus, 0, 2, 0, 4, tokens, &err), 0, "%s", err.text);
    cr_expect_eq(tokens[3], 3);
    corpus_close(corpus);
}

Test(megatron, a_source_without_any_token_is_an_error_at_once)
{
    const int32_t lengths[] = { 0, 0 };
    char prefix[TEMP_PATH_BYTES];
    write_megatron(temp_path(&dir, "none", prefix), MEGATRON_U16, lengths, 2);
    must_refuse(SOURCE_MEGATRON, &dir, "none.idx", EX_DATAERR,
                SAYS("source s", "1 shards", "2 documents", "no token"));
}
