/*
 * Shards micro-batches over CP ranks with every strategy.
 *
 *     bench_cp_sharding CP [TILE] < MICROBATCHES     a line each: the lengths of its pieces
 *
 * One line of JSON a strategy:
 *   over_ideal       attention of the busiest ranks, summed, over the ideal, sum d^2 / 2 / cp
 *   chunks_per_rank  mean
 *   mean_us, p99_us  processor time to shard one micro-batch
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "clock.h"
#include "cp/cp.h"

struct microbatches {
    struct piece *pieces; /* of all of them, one after another */
    size_t count, capacity;
    size_t *ends; /* of each micro-batch, in pieces */
    size_t batches, ends_capacity;
};

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench_cp_sharding: %s\n", what);
    exit(1);
}

static void end_microbatch(struct microbatches *read)
{
    expect(grow(read->ends, &read->ends_capacity, read->batches + 1), "memory");
    read->ends[read->batches++] = read->count;
}

static struct microbatches read_microbatches(FILE *file)
{
    struct microbatches read = { 0 };
    unsigned length;
    char after;
    while (fscanf(file, "%u%c", &length, &after) == 2) {
        expect(length > 0 && (after == ' ' || after == '\n'), "not lengths and line ends");
        expect(grow(read.pieces, &read.capacity, read.count + 1), "memory");
        read.pieces[read.count] = (struct piece){ .document = read.count, .length = length };
        read.count++;
        if (after == '\n')
            end_microbatch(&read);
    }
    expect(read.batches > 0, "no micro-batches");
    return read;
}

static uint64_t check_and_weigh(const struct cp_options *options, const struct piece *pieces,
                                size_t count, const struct cp_shards *shards)
{
    uint64_t tokens = 0, most = 0;
    uint32_t fewest = UINT32_MAX, largest = 0;
    for (size_t i = 0; i < count; i++)
        tokens += pieces[i].length;
    for (uint32_t r = 0; r < options->ranks; r++) {
        const struct cp_rank *rank = &shards->ranks[r];
        fewest = rank->tokens < fewest ? rank->tokens : fewest;
        largest = rank->tokens > largest ? rank->tokens : largest;
        most = rank->attention > most ? rank->attention : most;
        tokens -= rank->tokens;
    }
    expect(tokens == 0 && largest - fewest <= 1, "tokens of the ranks are not equal, or not all");
    return most;
}

/* Returns the sum of the busiest ranks' attention. */
static uint64_t bench(enum cp_strategy strategy, uint32_t ranks, uint32_t tile,
                      const struct microbatches *all)
{
    struct cp_options options = { strategy, ranks, tile, .pad_to_multiple = 1 };
    struct cp_shards shards = { 0 };
    struct error err = { 0 };
    uint64_t *took = calloc(all->batches, sizeof *took), total_ns = 0, busiest = 0, chunks = 0;
    double ideal = 0;
    expect(took != NULL, "memory");
    for (size_t batch = 0; batch < all->batches; batch++) {
        size_t first = batch ? all->ends[batch - 1] : 0, count = all->ends[batch] - first;
        const struct piece *pieces = all->pieces + first;
        uint64_t start = thread_ns();
        expect(!cp_shard(&options, pieces, count, &shards, &err), err.text);
        took[batch] = thread_ns() - start;
        total_ns += took[batch];
        chunks += shards.chunk_count;
        busiest += check_and_weigh(&options, pieces, count, &shards);
        for (size_t i = 0; i < count; i++)
            ideal += (double)pieces[i].length * pieces[i].length / 2 / ranks;
    }
    double batches = (double)all->batches;
    printf("{\"strategy\":\"%s\",\"over_ideal\":%.5f,\"chunks_per_rank\":%.2f,\"mean_us\":%.1f,"
           "\"p99_us\":%.1f}\n",
           cp_strategy_name(strategy), (double)busiest / ideal, (double)chunks / batches / ranks,
           (double)total_ns / batches / 1e3, (double)percentile(took, all->batches, 990) / 1e3);
    free(took);
    cp_shards_fini(&shards);
    return busiest;
}

int main(int count, char **arguments)
{
    unsigned long ranks = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    unsigned long tile = count > 2 ? strtoul(arguments[2], NULL, 10) : 128;
    if (ranks < 1 || ranks > CP_MAX_RANKS || tile < 1 || tile > 4096 || count > 3) {
        fprintf(stderr, "usage: bench_cp_sharding CP [TILE] < MICROBATCHES\n");
        return 64;
    }
    struct microbatches all = read_microbatches(stdin);
    uint64_t busiest[CP_STRATEGY_COUNT];
    for (int strategy = 0; strategy < CP_STRATEGY_COUNT; strategy++)
        busiest[strategy] =
            bench((enum cp_strategy)strategy, (uint32_t)ranks, (uint32_t)tile, &all);
    expect(busiest[CP_ADAPTIVE] <= busiest[CP_PER_SEQUENCE] &&
               busiest[CP_ADAPTIVE] <= busiest[CP_PER_DOCUMENT] &&
               busiest[CP_HYBRID] <= busiest[CP_ADAPTIVE],
           "hybrid is worse than adaptive, or adaptive than one of its two");
    free(all.pieces);
    free(all.ends);
    return 0;
}
