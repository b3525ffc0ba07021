/* ballastctl fetch: one micro-batch, asked for as a trainer rank would. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <ballast/ballast.h>

#include "base/digest.h"
#include "ctl/arguments.h"
#include "ctl/atomic_file.h"
#include "ctl/clock.h"
#include "ctl/human.h"
#include "ctl/json_line.h"
#include "ctl/keys.h"
#include "ctl/refusal.h"
#include "ctl/table.h"
#include "wire/table.h"

#define DEFAULT_TIMEOUT_MS 10000

_Static_assert(BALLAST_DIGEST_BYTES == DIGEST_BYTES, "one digest");

/* What to ask for, and until when. */
struct request {
    const char *endpoints;
    uint64_t step, microbatch, cp_rank;
    uint64_t deadline_ms;
    const struct keys *keys;
};

static int left_ms(const struct request *request)
{
    uint64_t now = clock_ms();
    return now < request->deadline_ms ? (int)(request->deadline_ms - now) : 0;
}

/* The exit status and the line for a call of the client library that failed. */
static int failure(ballast_status status, const char *message, struct error *err)
{
    int code = EX_SOFTWARE;
    if (status < BALLAST_INVALID)
        code = refusal_exit_code(status);
    else if (status == BALLAST_INVALID)
        code = EX_USAGE;
    else if (status == BALLAST_CORRUPT || status == BALLAST_SYSTEM)
        code = EX_UNAVAILABLE;
    else if (status == BALLAST_NO_MEMORY)
        code = EX_OSERR;
    return error_set(err, code, "%s", *message ? message : ballast_status_text(status));
}

static int open_client(const struct request *request, uint32_t dp_rank, uint32_t cp_rank,
                       ballast_client **ret_client, struct error *err)
{
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = request->endpoints;
    options.dp_rank = dp_rank;
    options.cp_rank = cp_rank;
    options.prefetch = 1;
    options.server_key = request->keys->given ? request->keys->server : NULL;
    options.secret_key = request->keys->given ? request->keys->secret : NULL;
    ballast_status status = ballast_open(&options, ret_client);
    if (status == BALLAST_INVALID)
        return error_set(err, EX_USAGE,
                         "--endpoint: found '%s', expected ZeroMQ endpoints such as "
                         "tcp://127.0.0.1:5755, separated by commas",
                         request->endpoints);
    if (status != BALLAST_OK)
        return error_set(err, EX_OSERR, "%s: cannot prepare a connection: %s", request->endpoints,
                         ballast_status_text(status));
    return 0;
}

static int ask_job(ballast_client *client, const struct request *request, ballast_job *ret_job,
                   struct error *err)
{
    ballast_status status = ballast_get_job(client, left_ms(request), ret_job);
    if (status == BALLAST_TIMEOUT)
        return error_set(err, EX_UNAVAILABLE,
                         "no daemon answers at %s: is ballastd running, with serve.endpoint there?",
                         request->endpoints);
    return status == BALLAST_OK ? 0 : failure(status, ballast_message(client), err);
}

static int check_request(const struct request *request, const ballast_job *job, struct error *err)
{
    uint64_t microbatches = (uint64_t)job->dp * job->microbatches;
    if (request->microbatch >= microbatches)
        return error_set(err, EX_USAGE,
                         "--microbatch: found %" PRIu64 ", expected less than %" PRIu64
                         " (dp %" PRIu32 " x %" PRIu32 " micro-batches)",
                         request->microbatch, microbatches, job->dp, job->microbatches);
    if (request->cp_rank >= job->cp)
        return error_set(err, EX_USAGE, "--cp-rank: found %" PRIu64 ", expected less than %" PRIu32,
                         request->cp_rank, job->cp);
    return 0;
}

/*
 * A client is one rank, and which rank is asked for depends on the job's shape: the first client
 * asks for that. On success *ret_client is the rank's.
 */
static int find_rank(const struct request *request, ballast_client **ret_client,
                     ballast_job *ret_job, struct error *err)
{
    ballast_client *client = NULL;
    int code = open_client(request, 0, 0, &client, err);
    if (!code)
        code = ask_job(client, request, ret_job, err);
    if (!code)
        code = check_request(request, ret_job, err);
    uint32_t dp_rank = code ? 0 : (uint32_t)request->microbatch / ret_job->microbatches;
    if (!code && (dp_rank || request->cp_rank)) {
        ballast_close(client);
        client = NULL;
        code = open_client(request, dp_rank, (uint32_t)request->cp_rank, &client, err);
    }
    if (code)
        ballast_close(client);
    else
        *ret_client = client;
    return code;
}

static int ask_batch(ballast_client *client, const struct request *request, const ballast_job *job,
                     ballast_batch **ret_batch, struct error *err)
{
    uint32_t slot = (uint32_t)request->microbatch % job->microbatches;
    ballast_status status = ballast_get(client, request->step, slot, left_ms(request), ret_batch);
    return status == BALLAST_OK ? 0 : failure(status, ballast_message(client), err);
}

static int write_files(const struct arguments *arguments, const ballast_view *view,
                       struct error *err)
{
    const struct {
        enum option_id option;
        const int32_t *values;
    } files[] = {
        { OPTION_OUT, view->tokens },
        { OPTION_LABELS, view->labels },
        { OPTION_POSITIONS, view->positions },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!argument_given(arguments, files[i].option))
            continue;
        int code = atomic_file_write(argument_text(arguments, files[i].option, ""), files[i].values,
                                     view->local_tokens * sizeof(int32_t), err);
        if (code)
            return code;
    }
    return 0;
}

/* Of the tokens as --out writes them. */
static uint64_t checksum_of(const ballast_view *view)
{
    return wire_checksum(view->tokens, view->local_tokens * sizeof *view->tokens);
}

static const char *digest_of(const ballast_view *view, char text[DIGEST_TEXT_BYTES])
{
    struct digest digest;
    memcpy(digest.bytes, view->digest, sizeof digest.bytes);
    return digest_text(digest, text);
}

static int print_json(const ballast_view *view, const ballast_job *job, struct output *out,
                      struct error *err)
{
    char digest[DIGEST_TEXT_BYTES], checksum[17];
    snprintf(checksum, sizeof checksum, "%016" PRIx64, checksum_of(view));
    const uint32_t *rank_chunks = view->rank_chunks + view->cp_rank;
    json_t *object = json_pack(
        "{so sI sI sI sI sI sI sI sI sI sI sI sI sI sI ss ss}", "job", json_bytes(job->name),
        "step", (json_int_t)view->step, "microbatch", (json_int_t)view->microbatch, "dp",
        (json_int_t)(view->microbatch / job->microbatches), "slot", (json_int_t)view->slot,
        "cp_rank", (json_int_t)view->cp_rank, "tokens", (json_int_t)view->local_tokens,
        "padded_tokens", (json_int_t)view->padded_tokens, "loss_tokens",
        (json_int_t)view->local_loss_tokens, "chunks", (json_int_t)(rank_chunks[1] - *rank_chunks),
        "pieces", (json_int_t)view->piece_count, "microbatch_tokens",
        (json_int_t)view->microbatch_tokens, "microbatch_loss_tokens",
        (json_int_t)view->microbatch_loss_tokens, "step_tokens", (json_int_t)view->step_tokens,
        "step_loss_tokens", (json_int_t)view->step_loss_tokens, "xxh3", checksum, "digest",
        digest_of(view, digest));
    return json_line(out, object, err);
}

static void describe_rank(struct table *facts, const ballast_view *view)
{
    char tokens[HUMAN_BYTES], loss[HUMAN_BYTES], padded[HUMAN_BYTES];
    const uint32_t *chunks = view->rank_chunks + view->cp_rank;
    table_cell(facts, "rank");
    table_cell(facts, "%s tokens in %" PRIu32 " chunk%s, %s with a label; %s with padding",
               human_count(view->local_tokens, tokens), chunks[1] - *chunks,
               human_plural(chunks[1] - *chunks), human_count(view->local_loss_tokens, loss),
               human_count(view->padded_tokens, padded));
}

static void describe_whole(struct table *facts, const ballast_view *view)
{
    char tokens[HUMAN_BYTES], loss[HUMAN_BYTES];
    table_cell(facts, "micro-batch");
    table_cell(facts, "%s tokens in %" PRIu32 " piece%s, %s with a label",
               human_count(view->microbatch_tokens, tokens), view->piece_count,
               human_plural(view->piece_count), human_count(view->microbatch_loss_tokens, loss));
    table_cell(facts, "step");
    table_cell(facts, "%s tokens, %s with a label", human_count(view->step_tokens, tokens),
               human_count(view->step_loss_tokens, loss));
}

static int print_text(const ballast_view *view, const ballast_job *job, struct output *out,
                      struct error *err)
{
    static const struct column columns[] = { { NULL, ALIGN_LEFT, 0 }, { NULL, ALIGN_LEFT, 0 } };
    struct table *facts = table_new(columns, 2);
    char digest[DIGEST_TEXT_BYTES];
    table_cell(facts, "fetched");
    table_cell(facts,
               "step %" PRIu64 ", micro-batch %" PRIu32 " (dp %" PRIu32 ", slot %" PRIu32
               "), CP rank %" PRIu32 " of job %s",
               view->step, view->microbatch, view->microbatch / job->microbatches, view->slot,
               view->cp_rank, job->name);
    describe_rank(facts, view);
    describe_whole(facts, view);
    table_cell(facts, "xxh3");
    table_cell(facts, "%016" PRIx64, checksum_of(view));
    table_cell(facts, "digest");
    table_cell(facts, "%s", digest_of(view, digest));
    int code = table_print(facts, out, err);
    table_free(facts);
    return code;
}

static int fetch(const struct arguments *arguments, const struct request *request,
                 struct output *out, struct error *err)
{
    ballast_job job;
    ballast_client *client = NULL;
    ballast_batch *batch = NULL;
    int code = find_rank(request, &client, &job, err);
    if (!code)
        code = ask_batch(client, request, &job, &batch, err);
    ballast_close(client);
    if (code)
        return code;
    const ballast_view *view = ballast_batch_view(batch);
    code = write_files(arguments, view, err);
    if (!code)
        code = argument_given(arguments, OPTION_JSON) ? print_json(view, &job, out, err)
                                                      : print_text(view, &job, out, err);
    ballast_batch_free(batch);
    return code;
}

int run_fetch(const struct arguments *arguments, struct output *out, struct error *err)
{
    uint64_t timeout_ms = argument_number(arguments, OPTION_TIMEOUT, DEFAULT_TIMEOUT_MS);
    if (timeout_ms > INT_MAX)
        return error_set(err, EX_USAGE, "--timeout: found %" PRIu64 ", expected at most %d",
                         timeout_ms, INT_MAX);
    struct keys keys;
    int code = keys_read(arguments, &keys, err);
    if (code)
        return code;
    const struct request request = {
        .keys = &keys,
        .endpoints = argument_text(arguments, OPTION_ENDPOINT, ""),
        .step = argument_number(arguments, OPTION_STEP, 0),
        .microbatch = argument_number(arguments, OPTION_MICROBATCH, 0),
        .cp_rank = argument_number(arguments, OPTION_CP_RANK, 0),
        .deadline_ms = clock_ms() + timeout_ms,
    };
    code = fetch(arguments, &request, out, err);
    keys_wipe(&keys);
    return code;
}
