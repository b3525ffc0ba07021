/*
 * A trainer rank without the training: opens, takes its micro-batches step by step, checks them as
 * a trainer would rely on them, and prints what it got. The loop to copy is in run().
 *
 * Exit status: 0 at the end of data or after STEPS steps, 1 on failure, 2 on wrong usage.
 */
#include <ballast/ballast.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_TOKENS 4
#define DIGEST_TEXT_BYTES (2 * BALLAST_DIGEST_BYTES + 1)

struct settings {
    ballast_options options;
    uint64_t steps; /* UINT64_MAX: until the end of data */
    uint8_t expected_digest[BALLAST_DIGEST_BYTES];
    int timeout_ms;
    bool quiet, json;
};

struct totals {
    uint64_t steps, batches, tokens, loss_tokens;
};

static void print_usage(FILE *stream)
{
    fputs("usage: train_rank [options] ENDPOINT[,ENDPOINT...] DP_RANK CP_RANK [STEPS]\n"
          "\n"
          "  -f, --first-step K   begin at step K (0)\n"
          "  -d, --digest HEX     expect this digest of step K - 1, as a checkpoint has it\n"
          "  -j, --job NAME       refuse daemons of any other job\n"
          "  -p, --prefetch N     requests in flight, 1 to 64 (4)\n"
          "  -r, --retry-ms N     silence after which another endpoint is asked (800)\n"
          "  -t, --timeout-ms N   wait for one micro-batch (30000)\n"
          "  -q, --quiet          no line per micro-batch, only the totals\n"
          "  -J, --json           JSON objects, one a line\n"
          "  -h, --help           this text\n",
          stream);
}

static uint64_t number(const char *text, const char *name, uint64_t most)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end || end == text || text[0] == '-' || value > most) {
        fprintf(stderr, "train_rank: %s is '%s': expected a number from 0 to %" PRIu64 "\n", name,
                text, most);
        exit(2);
    }
    return value;
}

static void read_digest(const char *text, uint8_t digest[BALLAST_DIGEST_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    bool good = strlen(text) == 2 * BALLAST_DIGEST_BYTES;
    for (int i = 0; good && i < 2 * BALLAST_DIGEST_BYTES; i++) {
        const char *digit = strchr(digits, text[i]);
        good = digit;
        if (good)
            digest[i / 2] = (uint8_t)(digest[i / 2] << 4 | (digit - digits));
    }
    if (good)
        return;
    fprintf(stderr, "train_rank: --digest is '%s': expected 32 hexadecimal digits\n", text);
    exit(2);
}

static void read_options(int argc, char **argv, struct settings *settings)
{
    static const struct option longs[] = { { "first-step", required_argument, NULL, 'f' },
                                           { "digest", required_argument, NULL, 'd' },
                                           { "job", required_argument, NULL, 'j' },
                                           { "prefetch", required_argument, NULL, 'p' },
                                           { "retry-ms", required_argument, NULL, 'r' },
                                           { "timeout-ms", required_argument, NULL, 't' },
                                           { "quiet", no_argument, NULL, 'q' },
                                           { "json", no_argument, NULL, 'J' },
                                           { "help", no_argument, NULL, 'h' },
                                           { NULL, 0, NULL, 0 } };
    int option;
    while ((option = getopt_long(argc, argv, "f:d:j:p:r:t:qJh", longs, NULL)) != -1)
        switch (option) {
        case 'f':
            settings->options.first_step = number(optarg, "--first-step", INT64_MAX);
            break;
        case 'd':
            read_digest(optarg, settings->expected_digest);
            settings->options.expected_digest = settings->expected_digest;
            break;
        case 'j':
            settings->options.job = optarg;
            break;
        case 'p':
            settings->options.prefetch = (uint32_t)number(optarg, "--prefetch", 64);
            break;
        case 'r':
            settings->options.retry_ms = (uint32_t)number(optarg, "--retry-ms", 600000);
            break;
        case 't':
            settings->timeout_ms = (int)number(optarg, "--timeout-ms", INT32_MAX);
            break;
        case 'q':
            settings->quiet = true;
            break;
        case 'J':
            settings->json = true;
            break;
        case 'h':
            print_usage(stdout);
            exit(0);
        default:
            print_usage(stderr);
            exit(2);
        }
}

static void read_settings(int argc, char **argv, struct settings *settings)
{
    read_options(argc, argv, settings);
    if (argc - optind < 3 || argc - optind > 4) {
        print_usage(stderr);
        exit(2);
    }
    settings->options.endpoints = argv[optind];
    settings->options.dp_rank = (uint32_t)number(argv[optind + 1], "DP_RANK", UINT32_MAX);
    settings->options.cp_rank = (uint32_t)number(argv[optind + 2], "CP_RANK", UINT32_MAX);
    if (argc - optind == 4)
        settings->steps = number(argv[optind + 3], "STEPS", UINT64_MAX);
    if (settings->steps < UINT64_MAX - settings->options.first_step)
        settings->options.end_step = settings->options.first_step + settings->steps;
}

static void write_digest(const uint8_t *digest, char text[DIGEST_TEXT_BYTES])
{
    for (int i = 0; i < BALLAST_DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

static void print_first_tokens(const ballast_view *view, const char *separator)
{
    for (uint32_t i = 0; i < FIRST_TOKENS && i < view->local_tokens; i++)
        printf("%s%" PRId32, i ? separator : "", view->tokens[i]);
}

static void print_batch(const struct settings *settings, const ballast_view *view)
{
    char digest[DIGEST_TEXT_BYTES];
    write_digest(view->digest, digest);
    printf(settings->json
               ? "{\"step\":%" PRIu64 ",\"slot\":%u,\"microbatch\":%u,\"tokens\":%u,\"padded\":%u,"
                 "\"pieces\":%u,\"chunks\":%u,\"loss_tokens\":%u,\"digest\":\"%s\",\"first\":["
               : "step %" PRIu64 " slot %u microbatch %u tokens %u padded %u pieces %u chunks %u "
                 "loss %u digest %s first ",
           view->step, view->slot, view->microbatch, view->local_tokens, view->padded_tokens,
           view->piece_count,
           view->rank_chunks[view->cp_rank + 1] - view->rank_chunks[view->cp_rank],
           view->local_loss_tokens, digest);
    print_first_tokens(view, settings->json ? "," : " ");
    puts(settings->json ? "]}" : "");
}

/* What a trainer divides its loss by must be the number of labels that it adds up. */
static bool labels_add_up(const ballast_view *view)
{
    uint32_t labels = 0;
    for (uint32_t i = 0; i < view->padded_tokens; i++)
        labels += view->labels[i] != BALLAST_IGNORE_LABEL;
    return labels == view->local_loss_tokens;
}

static void print_totals(const struct settings *settings, const struct totals *totals,
                         const ballast_client *client)
{
    ballast_counters counters;
    ballast_get_counters(client, &counters);
    printf(settings->json
               ? "{\"steps\":%" PRIu64 ",\"batches\":%" PRIu64 ",\"tokens\":%" PRIu64
                 ",\"loss_tokens\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"retries\":%" PRIu64
                 ",\"failovers\":%" PRIu64 ",\"wait_ms\":%" PRIu64 "}\n"
               : "total: steps %" PRIu64 " batches %" PRIu64 " tokens %" PRIu64 " loss %" PRIu64
                 " bytes %" PRIu64 " retries %" PRIu64 " failovers %" PRIu64 " waited %" PRIu64
                 " ms\n",
           totals->steps, totals->batches, totals->tokens, totals->loss_tokens, counters.bytes,
           counters.retries, counters.failovers, counters.wait_ns / 1000000);
}

static int fail(const ballast_client *client, ballast_status status)
{
    fprintf(stderr, "train_rank: %s: %s\n", ballast_status_text(status), ballast_message(client));
    return 1;
}

/* Takes one micro-batch; a real trainer would compute here. */
static bool consume(const struct settings *settings, const ballast_view *view,
                    struct totals *totals)
{
    if (!labels_add_up(view)) {
        fprintf(stderr, "train_rank: step %" PRIu64 ": the labels do not add up\n", view->step);
        return false;
    }
    totals->batches++;
    totals->tokens += view->local_tokens;
    totals->loss_tokens += view->local_loss_tokens;
    if (!settings->quiet)
        print_batch(settings, view);
    return true;
}

static int run(const struct settings *settings, ballast_client *client)
{
    ballast_job job;
    ballast_status status = ballast_get_job(client, settings->timeout_ms, &job);
    if (status != BALLAST_OK)
        return fail(client, status);
    struct totals totals = { 0 };
    ballast_batch *batch;
    while (totals.steps < settings->steps &&
           (status = ballast_next(client, settings->timeout_ms, &batch)) == BALLAST_OK) {
        const ballast_view *view = ballast_batch_view(batch);
        bool good = consume(settings, view, &totals);
        if (view->slot + 1 == job.microbatches) {
            totals.steps++;
            ballast_ack(client, view->step);
        }
        ballast_batch_free(batch);
        if (!good)
            return 1;
    }
    if (status != BALLAST_OK && status != BALLAST_END)
        return fail(client, status);
    print_totals(settings, &totals, client);
    return 0;
}

int main(int argc, char **argv)
{
    struct settings settings = { .options = BALLAST_OPTIONS_INIT,
                                 .steps = UINT64_MAX,
                                 .timeout_ms = 30000 };
    read_settings(argc, argv, &settings);
    ballast_client *client;
    ballast_status status = ballast_open(&settings.options, &client);
    if (status != BALLAST_OK) {
        fprintf(stderr, "train_rank: %s: %s\n", settings.options.endpoints,
                ballast_status_text(status));
        return status == BALLAST_INVALID ? 2 : 1;
    }
    int result = run(&settings, client);
    ballast_close(client);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "train_rank: cannot write: %s\n", strerror(errno));
        return 1;
    }
    return result;
}
