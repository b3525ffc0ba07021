/* Random pairs: the corpus tells what the arrays say, document by document, token by token. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/permutation.h"
#include "corpus/corpus.h"
#include "one_source.h"
#include "support/shards.h"

enum { MOST_SEQUENCES = 60, MOST_DOCUMENTS = 80, SHARDS = 4, ROUNDS = 60 };

struct random {
    uint64_t state;
};

static uint64_t draw(struct random *random, uint64_t below)
{
    return mix_keys(42, random->state++) % below;
}

/* What one shard holds, in the plainest form. */
struct expected {
    int32_t lengths[MOST_SEQUENCES];
    size_t sequences;
    int64_t documents[MOST_DOCUMENTS + 1];
    size_t document_count;
};

static void make_shard(struct random *random, const struct temp_dir *dir, int number,
                       struct expected *shard)
{
    static const uint8_t types[] = { MEGATRON_U8, MEGATRON_U16, MEGATRON_I32, MEGATRON_I64 };
    shard->sequences = draw(random, MOST_SEQUENCES) + 1;
    for (size_t i = 0; i < shard->sequences; i++)
        shard->lengths[i] = draw(random, 3) ? (int32_t)draw(random, 400) : 0;
    /* Steps of 0 to 2 sequences, the last document takes what is left. */
    int64_t at = 0;
    shard->document_count = 0;
    shard->documents[0] = 0;
    while (at < (int64_t)shard->sequences) {
        bool last = shard->document_count == MOST_DOCUMENTS - 1;
        at = last ? (int64_t)shard->sequences : at + (int64_t)draw(random, 3);
        at = at > (int64_t)shard->sequences ? (int64_t)shard->sequences : at;
        shard->documents[++shard->document_count] = at;
    }
    struct megatron_pair *pair =
        megatron_pair_new(types[draw(random, 4)], shard->lengths, shard->sequences);
    megatron_pair_set_documents(pair, shard->documents, shard->document_count + 1);
    char name[16], prefix[TEMP_PATH_BYTES];
    snprintf(name, sizeof name, "s%d", number);
    megatron_pair_write(pair, temp_path(dir, name, prefix));
    megatron_pair_free(pair);
}

static void check_document(struct random *random, const struct corpus *corpus, uint64_t document,
                           uint64_t first_token, uint64_t tokens)
{
    cr_assert_eq(source_document_tokens(&corpus->sources[0], document), tokens);
    if (tokens == 0)
        return;
    uint64_t offset = draw(random, tokens);
    uint32_t count = (uint32_t)(draw(random, tokens - offset) + 1);
    unsigned char out[1200 * 4];
    struct error err = { 0 };
    cr_assert_eq(corpus_read(corpus, 0, document, offset, count, out, &err), 0, "%s", err.text);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = 0;
        memcpy(&id, out + (size_t)i * corpus->token_bytes, corpus->token_bytes);
        cr_assert_eq(id, (first_token + offset + i) % 251);
    }
}

static void check_corpus(struct random *random, const struct corpus *corpus,
                         const struct expected *shards)
{
    uint64_t document = 0, all_tokens = 0, empty = 0;
    for (int s = 0; s < SHARDS; s++) {
        uint64_t first_token = 0;
        for (size_t d = 0; d < shards[s].document_count; d++) {
            uint64_t tokens = 0;
            for (int64_t i = shards[s].documents[d]; i < shards[s].documents[d + 1]; i++)
                tokens += (uint64_t)shards[s].lengths[i];
            check_document(random, corpus, document++, first_token, tokens);
            first_token += tokens;
            empty += tokens == 0;
        }
        all_tokens += first_token;
    }
    cr_assert_eq(corpus->documents, document);
    cr_assert_eq(corpus->tokens, all_tokens);
    cr_assert_eq(corpus->sources[0].empty_documents, empty);
}

/* Takes tokens away from every other shard or so, and says of which in `dropped`. */
static size_t damage_some(struct random *random, const struct temp_dir *dir,
                          struct dropped_shard dropped[SHARDS])
{
    static const char *const names[SHARDS] = { "s0.idx", "s1.idx", "s2.idx", "s3.idx" };
    size_t count = 0;
    for (size_t s = 0; s < SHARDS; s++) {
        char name[16], path[TEMP_PATH_BYTES];
        snprintf(name, sizeof name, "s%zu.bin", s);
        temp_path(dir, name, path);
        struct stat facts;
        cr_assert_eq(stat(path, &facts), 0);
        if (draw(random, 2) || facts.st_size == 0)
            continue;
        if (draw(random, 2))
            cr_assert_eq(unlink(path), 0);
        else
            cr_assert_eq(truncate(path, (off_t)draw(random, (uint64_t)facts.st_size)), 0);
        dropped[count++] = (struct dropped_shard){ s, names[s] };
    }
    return count;
}

static bool was_dropped(const struct dropped_shard *dropped, size_t count, size_t number)
{
    for (size_t i = 0; i < count; i++)
        if (dropped[i].number == number)
            return true;
    return false;
}

/* The corpus is the same, and exactly the documents of damaged shards cannot be read. */
static void check_damaged(const struct corpus *corpus, const struct corpus *whole,
                          const struct dropped_shard *dropped, size_t count)
{
    const struct source *source = &corpus->sources[0];
    size_t shard = 0;
    cr_assert(digest_equal(corpus->fingerprint, whole->fingerprint));
    cr_assert_eq(source->unread_count, count);
    cr_assert_eq(corpus->documents, whole->documents);
    cr_assert_eq(corpus->tokens, whole->tokens);
    for (uint64_t document = 0; document < corpus->documents; document++) {
        uint64_t tokens = source_document_tokens(&whole->sources[0], document);
        unsigned char out[1200 * 4];
        while (source->first_document[shard + 1] <= document)
            shard++;
        cr_assert_eq(source_document_tokens(source, document), tokens);
        cr_assert_eq(corpus_read(corpus, 0, document, 0, (uint32_t)tokens, out, NULL),
                     was_dropped(dropped, count, shard) ? EX_IOERR : 0);
    }
}

Test(property, dropped_shards_leave_the_corpus_what_it_was)
{
    struct random random = { 2 };
    for (int round = 0; round < ROUNDS; round++) {
        struct temp_dir dir = temp_dir_make();
        struct expected shard;
        struct dropped_shard dropped[SHARDS];
        for (int s = 0; s < SHARDS; s++)
            make_shard(&random, &dir, s, &shard);
        struct corpus *whole = must_open(SOURCE_MEGATRON, &dir, "s*.idx", 251), *corpus;
        size_t count = damage_some(&random, &dir, dropped);
        char name[] = "s", path[TEMP_PATH_BYTES], *paths[] = { path };
        temp_path(&dir, "s*.bin", path);
        struct source_spec spec = { .name = name,
                                    .paths = paths,
                                    .path_count = 1,
                                    .weight = 1,
                                    .dropped = dropped,
                                    .dropped_count = count };
        cr_assert_eq(corpus_open(&spec, 1, 251, NULL, NULL, &corpus, NULL), 0);
        check_damaged(corpus, whole, dropped, count);
        corpus_close(corpus);
        corpus_close(whole);
        temp_dir_remove(&dir);
    }
}

Test(property, corpus_tells_what_the_files_hold)
{
    struct random random = { 1 };
    for (int round = 0; round < ROUNDS; round++) {
        struct temp_dir dir = temp_dir_make();
        struct expected shards[SHARDS];
        for (int s = 0; s < SHARDS; s++)
            make_shard(&random, &dir, s, &shards[s]);
        struct corpus *corpus =
            must_open(SOURCE_MEGATRON, &dir, "s*.idx", round % 2 ? 251 : 100000);
        check_corpus(&random, corpus, shards);
        corpus_close(corpus);
        temp_dir_remove(&dir);
    }
}
