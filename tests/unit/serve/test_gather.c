/* Gathered payloads hold the shard's tokens chunk by chunk, each with the document's next one. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "serve/gather.h"
#include "support/shards.h"
#include "support/temp_dir.h"
#include "wire/table.h"

/* Two documents of 10 and 6 tokens; token i of the shard has the id i. */
struct bench {
    struct temp_dir dir;
    struct corpus *corpus;
    struct gather *gather;
    struct step_plan plan;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned done;
};

static struct piece pieces[] = {
    { .document = 0, .offset = 2, .length = 5 }, /* the document goes on behind it */
    { .document = 1, .offset = 0, .length = 6, .flags = PIECE_ENDS_DOCUMENT },
};
static struct chunk chunks[] = { { 0, 0, 2 }, { 1, 4, 2 }, { 0, 2, 3 }, { 1, 0, 4 } };
static struct cp_rank ranks[] = { { .first = 0, .count = 2, .tokens = 4 },
                                  { .first = 2, .count = 2, .tokens = 7 } };
static struct plan_microbatch microbatches[] = { { .piece_count = 2, .chunk_count = 4 } };

static void notify(void *context)
{
    struct bench *bench = context;
    pthread_mutex_lock(&bench->lock);
    bench->done++;
    pthread_cond_signal(&bench->changed);
    pthread_mutex_unlock(&bench->lock);
}

static void bench_open(struct bench *bench, uint32_t vocabulary)
{
    memset(bench, 0, sizeof *bench);
    bench->dir = temp_dir_make();
    char path[TEMP_PATH_BYTES];
    const int32_t lengths[] = { 10, 6 };
    write_megatron(temp_path(&bench->dir, "a", path), MEGATRON_U16, lengths, 2);
    char index[TEMP_PATH_BYTES], name[] = "a";
    char *paths[] = { index };
    temp_path(&bench->dir, "a.idx", index);
    struct source_spec spec = { .name = name, .paths = paths, .path_count = 1, .weight = 1 };
    struct error err = { 0 };
    cr_assert_eq(corpus_open(&spec, 1, vocabulary, NULL, NULL, &bench->corpus, &err), 0, "%s",
                 err.text);
    pthread_mutex_init(&bench->lock, NULL);
    pthread_cond_init(&bench->changed, NULL);
    cr_assert_eq(gather_new(bench->corpus, 2, notify, bench, &bench->gather, &err), 0);
    bench->plan = (struct step_plan){ .microbatch_count = 1,
                                      .rank_count = 2,
                                      .microbatches = microbatches,
                                      .pieces = pieces,
                                      .piece_count = 2,
                                      .chunks = chunks,
                                      .chunk_count = 4,
                                      .ranks = ranks };
}

static void bench_close(struct bench *bench)
{
    gather_free(bench->gather);
    corpus_close(bench->corpus);
    temp_dir_remove(&bench->dir);
}

static struct gather_job *gather_one(struct bench *bench, uint32_t rank)
{
    struct shared_plan *shared;
    cr_assert_eq(shared_plan_new(&bench->plan, (struct digest){ 0 }, NULL, &shared, NULL), 0);
    struct payload_key key = { .rank = rank };
    cr_assert(gather_submit(bench->gather, shared, key, false));
    shared_plan_unref(shared); /* the job keeps it alive */
    pthread_mutex_lock(&bench->lock);
    while (bench->done == 0)
        pthread_cond_wait(&bench->changed, &bench->lock);
    bench->done--;
    pthread_mutex_unlock(&bench->lock);
    return gather_take(bench->gather);
}

Test(gather, chunks_carry_the_next_token_and_zero_at_the_end_of_a_document)
{
    struct bench bench;
    bench_open(&bench, 1000);
    struct gather_job *job = gather_one(&bench, 0);
    cr_assert_not_null(job->payload, "%s", job->error.text);
    const uint16_t first[] = { 2, 3, 4, 14, 15, 0 };
    cr_assert_eq(job->payload->bytes, sizeof first);
    cr_assert_arr_eq(job->payload->tokens, first, sizeof first);
    cr_assert_eq(job->payload->xxh3, wire_checksum(first, sizeof first));
    gather_job_free(job);

    job = gather_one(&bench, 1);
    /* The first piece is cut from a longer document: its true next token is 7. */
    const uint16_t second[] = { 4, 5, 6, 7, 10, 11, 12, 13, 14 };
    cr_assert_eq(job->payload->bytes, sizeof second);
    cr_assert_arr_eq(job->payload->tokens, second, sizeof second);
    gather_job_free(job);
    bench_close(&bench);
}

Test(gather, a_damaged_shard_is_an_error_of_the_job)
{
    struct bench bench;
    bench_open(&bench, 5); /* ids from 5 on are damage */
    struct gather_job *job = gather_one(&bench, 1);
    cr_assert_null(job->payload);
    cr_assert_eq(job->error.code, EX_DATAERR);
    cr_assert_not_null(strstr(job->error.text, "step 0, micro-batch 0"), "%s", job->error.text);
    gather_job_free(job);
    bench_close(&bench);
}

Test(gather, queues_are_bounded_and_dropped_when_it_stops)
{
    struct bench bench;
    bench_open(&bench, 1000);
    struct shared_plan *shared;
    cr_assert_eq(shared_plan_new(&bench.plan, (struct digest){ 0 }, NULL, &shared, NULL), 0);
    struct payload_key key = { 0 };
    unsigned taken = 0;
    while (gather_submit(bench.gather, shared, key, true))
        taken++;
    cr_assert_eq(taken, GATHER_QUEUE);
    cr_assert_eq(gather_ahead(bench.gather), GATHER_QUEUE);
    cr_assert(gather_submit(bench.gather, shared, key, false), "demand has a queue of its own");
    bench_close(&bench);
    cr_assert_eq(atomic_load(&shared->references), 1);
    shared_plan_unref(shared);
}
