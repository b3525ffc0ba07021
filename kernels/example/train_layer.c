/*
 * A training run of one attention layer over context parallelism, on data from ballastd: what a
 * trainer does with libballast and libballast_attention together. The model is in layer.c, its
 * attention in attention.c, a micro-batch in microbatch.c; this file has the ranks and the steps.
 *
 *     train_layer ENDPOINT[,ENDPOINT...] [STEPS]
 *
 * Every CP rank of the job is a thread with a client, a device and a place in the group of its own.
 * After each step the gradients of all ranks, added up, are compared with those of the same step
 * computed without ranks. A line a step; exit status 0, 1 when something failed or the gradients
 * differ, 2 on wrong usage.
 */
#include <cuda_runtime.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/example/microbatch.h"

#define MOST_RANKS 8
#define WAIT_MS 60000
#define LEARNING_RATE 2.0F

/* Sums over ranks are made in another order, so that now and then bf16 rounds the other way. */
#define MOST_DIFFERENCE 0.001

struct rank {
    uint32_t number;
    pthread_t thread;
    ballast_client *client;
    ballast_attention_cp *cp;
    const struct layer *layer;
    ballast_attention_cp_options group;

    /* Of one step. */
    uint32_t microbatches;
    ballast_batch **batches; /* [microbatches], NULL where there is none */
    struct result result;
    ballast_status status;
    bool computed;
};

struct run {
    ballast_job job;
    uint64_t steps;
    struct layer layer;
    struct rank ranks[MOST_RANKS];
    struct result sharded, whole;
};

static bool open_client(struct rank *rank, const char *endpoints)
{
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = endpoints;
    options.cp_rank = rank->number;
    ballast_status status = ballast_open(&options, &rank->client);
    if (status != BALLAST_OK)
        fprintf(stderr, "train_layer: %s: %s\n", endpoints, ballast_status_text(status));
    return status == BALLAST_OK;
}

static void *join_group(void *data)
{
    struct rank *rank = data;
    ballast_attention_error error;
    cudaSetDevice((int)rank->number);
    if (ballast_attention_cp_open(&rank->group, &rank->cp, &error) != BALLAST_ATTENTION_OK)
        fprintf(stderr, "train_layer: rank %u: %s\n", rank->number, error.text);
    return NULL;
}

static bool take_batch(struct rank *rank, uint32_t slot)
{
    rank->status = ballast_next(rank->client, WAIT_MS, &rank->batches[slot]);
    if (rank->status != BALLAST_OK && rank->status != BALLAST_END)
        fprintf(stderr, "train_layer: rank %u: %s: %s\n", rank->number,
                ballast_status_text(rank->status), ballast_message(rank->client));
    return rank->status == BALLAST_OK;
}

/* This rank's part of one step. Batches are kept, to be compared with. */
static void *train_step(void *data)
{
    struct rank *rank = data;
    bool good = true;
    cudaSetDevice((int)rank->number);
    for (uint32_t slot = 0; good && slot < rank->microbatches; slot++)
        good = take_batch(rank, slot) &&
               microbatch_share(rank->layer, rank->cp, ballast_batch_view(rank->batches[slot]),
                                &rank->result);
    rank->computed = good;
    if (!good)
        ballast_attention_cp_abort(rank->cp); /* before the others wait for what will not come */
    return NULL;
}

static void *leave_group(void *data)
{
    struct rank *rank = data;
    cudaSetDevice((int)rank->number);
    ballast_attention_cp_close(rank->cp);
    rank->cp = NULL;
    return NULL;
}

/* On all ranks at once; returns when all are through. */
static void on_all(struct run *run, void *body(void *))
{
    for (uint32_t i = 0; i < run->job.cp; i++)
        if (pthread_create(&run->ranks[i].thread, NULL, body, &run->ranks[i]) != 0)
            abort();
    for (uint32_t i = 0; i < run->job.cp; i++)
        pthread_join(run->ranks[i].thread, NULL);
}

static bool read_job(struct run *run)
{
    ballast_client *client = run->ranks[0].client;
    ballast_status status = ballast_get_job(client, WAIT_MS, &run->job);
    if (status != BALLAST_OK) {
        fprintf(stderr, "train_layer: %s: %s\n", ballast_status_text(status),
                ballast_message(client));
        return false;
    }
    if (run->job.cp <= MOST_RANKS)
        return true;
    fprintf(stderr, "train_layer: the job has %u CP ranks: expected at most %d\n", run->job.cp,
            MOST_RANKS);
    return false;
}

static bool open_rank(struct run *run, uint32_t number, const char *endpoints)
{
    struct rank *rank = &run->ranks[number];
    rank->number = number;
    rank->layer = &run->layer;
    rank->microbatches = run->job.microbatches;
    rank->batches = calloc(rank->microbatches, sizeof *rank->batches);
    rank->group.ranks = run->job.cp;
    rank->group.rank = number;
    return rank->batches && (rank->client || open_client(rank, endpoints));
}

/* Clients first, then the group: all of its ranks come at once. */
static bool open_all(struct run *run, const char *endpoints)
{
    ballast_attention_cp_options group = BALLAST_ATTENTION_CP_OPTIONS_INIT;
    if (!open_client(&run->ranks[0], endpoints) || !read_job(run) ||
        ballast_attention_cp_make_id(&group.id, NULL) != BALLAST_ATTENTION_OK)
        return false;
    for (uint32_t i = 0; i < run->job.cp; i++) {
        run->ranks[i].group = group;
        if (!open_rank(run, i, endpoints))
            return false;
    }
    on_all(run, join_group);
    bool good = true;
    for (uint32_t i = 0; i < run->job.cp; i++)
        good = good && run->ranks[i].cp;
    return good;
}

static void close_all(struct run *run)
{
    on_all(run, leave_group);
    for (uint32_t i = 0; i < MOST_RANKS; i++) {
        ballast_close(run->ranks[i].client);
        free(run->ranks[i].batches);
    }
}

static void free_batches(struct run *run)
{
    for (uint32_t i = 0; i < run->job.cp; i++)
        for (uint32_t slot = 0; slot < run->job.microbatches; slot++) {
            ballast_batch_free(run->ranks[i].batches[slot]);
            run->ranks[i].batches[slot] = NULL;
        }
}

/* What an all-reduce over the ranks would give each of them. */
static void add_up(struct run *run)
{
    run->sharded = (struct result){ 0 };
    for (uint32_t i = 0; i < run->job.cp; i++) {
        run->sharded.loss += run->ranks[i].result.loss;
        layer_add(&run->sharded.gradients, 1, &run->ranks[i].result.gradients);
    }
}

static bool compute_whole(struct run *run)
{
    run->whole = (struct result){ 0 };
    bool good = true;
    for (uint32_t slot = 0; good && slot < run->job.microbatches; slot++) {
        ballast_batch *shares[MOST_RANKS];
        for (uint32_t i = 0; i < run->job.cp; i++)
            shares[i] = run->ranks[i].batches[slot];
        good = microbatch_whole(&run->layer, shares, &run->whole);
    }
    return good;
}

static bool report(const struct run *run)
{
    const ballast_view *view = ballast_batch_view(run->ranks[0].batches[0]);
    double gradients = layer_difference(&run->sharded.gradients, &run->whole.gradients);
    double loss = fabs(run->sharded.loss - run->whole.loss) / run->whole.loss;
    printf("step %" PRIu64 " tokens %" PRIu64 " loss %.6f differs %.2g gradients differ %.2g\n",
           view->step, view->step_tokens, run->sharded.loss, loss, gradients);
    bool same = loss <= MOST_DIFFERENCE && gradients <= MOST_DIFFERENCE; /* false for NaN */
    if (!same)
        fprintf(stderr, "train_layer: step %" PRIu64 ": more than %g\n", view->step,
                MOST_DIFFERENCE);
    return same;
}

/* One step with every rank's part done. */
static bool finish_step(struct run *run)
{
    add_up(run);
    if (!compute_whole(run) || !report(run))
        return false;
    layer_add(&run->layer, -LEARNING_RATE, &run->sharded.gradients);
    for (uint32_t i = 0; i < run->job.cp; i++)
        ballast_ack(run->ranks[i].client, ballast_batch_view(run->ranks[i].batches[0])->step);
    return true;
}

static bool train(struct run *run)
{
    bool good = true, ended = false;
    for (uint64_t step = 0; good && !ended && step < run->steps; step++) {
        for (uint32_t i = 0; i < run->job.cp; i++)
            run->ranks[i].result = (struct result){ 0 };
        on_all(run, train_step);
        for (uint32_t i = 0; i < run->job.cp; i++) {
            ended = ended || run->ranks[i].status == BALLAST_END; /* the same step for all */
            good = good && run->ranks[i].computed;
        }
        good = (good && finish_step(run)) || ended;
        free_batches(run);
    }
    return good;
}

int main(int argc, char **argv)
{
    char *end = "";
    errno = 0;
    unsigned long long steps = argc == 3 ? strtoull(argv[2], &end, 10) : UINT64_MAX;
    if (argc < 2 || argc > 3 || errno || *end || steps == 0) {
        fputs("usage: train_layer ENDPOINT[,ENDPOINT...] [STEPS]\n", stderr);
        return 2;
    }
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return 1;
    run->steps = steps;
    layer_init(&run->layer);
    bool good = open_all(run, argv[1]) && train(run);
    close_all(run);
    free(run);
    return good && fflush(stdout) == 0 ? 0 : 1;
}
