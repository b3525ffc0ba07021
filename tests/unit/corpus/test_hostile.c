/* Bad and hostile Megatron pairs: each refused by one line with file, field, found and expected. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "corpus/corpus.h"
#include "one_source.h"
#include "support/shards.h"

static struct temp_dir dir;
static struct megatron_pair *pair; /* 4 sequences of 10, 20, 30, 40 tokens, u16 */
static char prefix[TEMP_PATH_BYTES];

static void set_up(void)
{
    static const int32_t lengths[] = { 10, 20, 30, 40 };
    dir = temp_dir_make();
    pair = megatron_pair_new(MEGATRON_U16, lengths, 4);
    temp_path(&dir, "x", prefix);
}

static void tear_down(void)
{
    megatron_pair_free(pair);
    temp_dir_remove(&dir);
}

TestSuite(hostile, .init = set_up, .fini = tear_down);

static void must_be_bad(const char *const *fragments)
{
    megatron_pair_write(pair, prefix);
    must_refuse(SOURCE_MEGATRON, &dir, "x.idx", EX_DATAERR, fragments);
}

Test(hostile, the_pair_itself_is_good)
{
    megatron_pair_write(pair, prefix);
    struct corpus *corpus = must_open(SOURCE_MEGATRON, &dir, "x.idx", 0);
    cr_expect_eq(corpus->tokens, 100);
    corpus_close(corpus);
}

Test(hostile, counts_that_overflow)
{
    static const uint64_t counts[] = { UINT64_MAX,
                                       UINT64_MAX / 12,
                                       UINT64_MAX / 12 + 2,
                                       UINT64_C(1) << 63,
                                       UINT64_C(1) << 61,
                                       (UINT64_C(1) << 60) + 4,
                                       5,
                                       3,
                                       0 };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        pair->n = counts[i];
        must_be_bad(SAYS("x.idx", "122 bytes", "12 N"));
    }
    pair->n = 4;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (counts[i] == 5)
            continue; /* D = 5 is the truth */
        pair->d = counts[i];
        must_be_bad(SAYS("x.idx", "122 bytes", "8 D"));
    }
}

/* N and D that together wrap to the size of the file. */
Test(hostile, counts_that_wrap_to_the_right_size)
{
    pair->n = 4 + (UINT64_C(1) << 62); /* 12 N = 48 mod 2^64 */
    must_be_bad(SAYS("x.idx", "122 bytes"));
    pair->n = 4;
    pair->d = 5 + (UINT64_C(1) << 61);
    must_be_bad(SAYS("x.idx", "122 bytes"));
}

Test(hostile, fairseq_header_is_named)
{
    pair->fairseq_header = true;
    must_be_bad(SAYS("fairseq", "26 bytes", "4 sequences"));
    pair->dtype = 9;
    must_be_bad(SAYS("fairseq", "code 9"));
}

Test(hostile, an_empty_fairseq_index_is_named)
{
    pair->fairseq_header = true;
    pair->n = pair->sequence_count = 0;
    must_be_bad(SAYS("fairseq"));
}

Test(hostile, fairseq_codes_in_the_megatron_layout)
{
    pair->dtype = 9;
    must_be_bad(SAYS("dtype code is 9", "fairseq's u32", "8 u16"));
    pair->dtype = 10;
    must_be_bad(SAYS("dtype code is 10", "fairseq's u64"));
}

Test(hostile, older_layout_is_named)
{
    memcpy(pair->magic, "TNTIDX\0\0", 8);
    must_be_bad(SAYS("x.idx", "TNTIDX", "MMIDIDX"));
}

Test(hostile, another_magic)
{
    memcpy(pair->magic, "PK\3\4....", 8);
    must_be_bad(SAYS("x.idx", "504b0304", "MMIDIDX"));
}

Test(hostile, another_version)
{
    pair->version = 2;
    must_be_bad(SAYS("version is 2", "expected 1"));
}

Test(hostile, floats_are_not_tokens)
{
    pair->dtype = MEGATRON_F64;
    must_be_bad(SAYS("dtype code is 6", "f64", "expected tokens"));
    pair->dtype = MEGATRON_F32;
    must_be_bad(SAYS("dtype code is 7", "f32"));
    static const uint8_t unknown[] = { 0, 11, 255 };
    for (size_t i = 0; i < sizeof unknown; i++) {
        pair->dtype = unknown[i];
        must_be_bad(SAYS("dtype code", "unknown"));
    }
}

Test(hostile, multimodal_modes_are_named)
{
    pair->mode_count = 4;
    must_be_bad(SAYS("multimodal", "4 modes"));
}

Test(hostile, no_document_indices_at_all)
{
    megatron_pair_set_documents(pair, NULL, 0);
    must_be_bad(SAYS("D = 0"));
}

Test(hostile, data_shorter_or_longer_than_the_index_says)
{
    pair->token_bytes = 198;
    must_be_bad(SAYS("x.bin", "198 bytes", "expected 200", "x.idx"));
    pair->token_bytes = 0;
    must_be_bad(SAYS("x.bin", "0 bytes", "expected 200"));
    pair->tokens = realloc(pair->tokens, 201);
    pair->tokens[200] = 0;
    pair->token_bytes = 201;
    must_be_bad(SAYS("x.bin", "201 bytes", "expected 200"));
}

Test(hostile, pointers_that_are_not_the_running_sum)
{
    pair->pointers[2] = 58;
    must_be_bad(SAYS("pointer of sequence 2 is 58", "expected 60"));
    pair->pointers[2] = -400;
    must_be_bad(SAYS("pointer of sequence 2 is -400", "expected 60"));
    pair->pointers[2] = INT64_C(8589934192);
    must_be_bad(SAYS("is 8589934192", "expected 60"));
    pair->pointers[2] = 60;
    pair->pointers[0] = 2;
    must_be_bad(SAYS("pointer of sequence 0 is 2", "expected 0"));
}

Test(hostile, negative_lengths)
{
    pair->lengths[1] = -20;
    must_be_bad(SAYS("length of sequence 1 is -20"));
    pair->lengths[1] = INT32_MIN;
    must_be_bad(SAYS("length of sequence 1 is -2147483648"));
}

Test(hostile, document_indices_that_do_not_begin_at_zero)
{
    pair->document_indices[0] = 1;
    must_be_bad(SAYS("document index 0 is 1", "expected 0"));
    pair->document_indices[0] = INT64_MIN;
    must_be_bad(SAYS("document index 0 is -9223372036854775808"));
}

Test(hostile, document_indices_that_fall)
{
    pair->document_indices[3] = 1;
    must_be_bad(SAYS("document index 3 is 1", "expected 2"));
    pair->document_indices[3] = -1;
    must_be_bad(SAYS("document index 3 is -1"));
}

Test(hostile, document_indices_beyond_the_sequences)
{
    pair->document_indices[3] = 5;
    must_be_bad(SAYS("document index 3 is 5", "N = 4"));
    pair->document_indices[3] = INT64_MAX;
    must_be_bad(SAYS("document index 3 is 9223372036854775807", "N = 4"));
}

Test(hostile, document_indices_that_end_short)
{
    const int64_t merged_wrongly[] = { 0, 1, 2, 2, 3 };
    megatron_pair_set_documents(pair, merged_wrongly, 5);
    must_be_bad(SAYS("last document index is 3", "N = 4"));
}

Test(hostile, cut_at_every_byte)
{
    size_t count;
    megatron_pair_write(pair, prefix);
    unsigned char *index = megatron_pair_index(pair, &count);
    char path[TEMP_PATH_BYTES];
    temp_path(&dir, "x.idx", path);
    for (size_t cut = 0; cut < count; cut++) {
        file_write(path, index, cut);
        must_refuse(SOURCE_MEGATRON, &dir, "x.idx", EX_DATAERR, SAYS("x.idx"));
    }
    free(index);
}

Test(hostile, empty_files)
{
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "x.idx", path), NULL, 0);
    file_write(temp_path(&dir, "x.bin", path), NULL, 0);
    must_refuse(SOURCE_MEGATRON, &dir, "x.idx", EX_DATAERR, SAYS("x.idx", "0 bytes", "34"));
}

Test(hostile, no_data_file)
{
    pair->without_data_file = true;
    megatron_pair_write(pair, prefix);
    must_refuse(SOURCE_MEGATRON, &dir, "x.idx", EX_NOINPUT,
                SAYS("source s", "x.idx", "x.bin", "No such file"));
}

Test(hostile, directories_and_fifos_in_either_place)
{
    char path[TEMP_PATH_BYTES];
    pair->without_data_file = true;
    megatron_pair_write(pair, prefix);
    cr_assert_eq(mkdir(temp_path(&dir, "x.bin", path), 0777), 0);
    must_refuse(SOURCE_MEGATRON, &dir, "x.idx", EX_DATAERR, SAYS("x.bin", "a directory"));
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(mkfifo(path, 0666), 0);
    must_refuse(SOURCE_MEGATRON, &dir, "x.idx", EX_DATAERR, SAYS("x.bin", "a FIFO"));
    cr_assert_eq(mkdir(temp_path(&dir, "y.idx", path), 0777), 0);
    must_refuse(SOURCE_MEGATRON, &dir, "y.idx", EX_DATAERR, SAYS("y.idx", "a directory"));
    cr_assert_eq(mkfifo(temp_path(&dir, "z.idx", path), 0666), 0);
    must_refuse(SOURCE_MEGATRON, &dir, "z.idx", EX_DATAERR, SAYS("z.idx", "a FIFO"));
}
