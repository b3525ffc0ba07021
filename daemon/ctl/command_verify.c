/* ballastctl verify: checks token shards whole. */
#include <inttypes.h>
#include <string.h>

#include "corpus/corpus.h"
#include "ctl/arguments.h"
#include "ctl/human.h"
#include "ctl/json_line.h"
#include "ctl/progress.h"

struct verify {
    uint32_t vocab_size;
    bool json;
    struct progress progress;
    uint64_t good, bad, documents, tokens; /* so far */
};

static int print_good(struct output *out, const char *path, const struct shard_facts *facts,
                      bool json, struct error *err)
{
    if (json)
        return json_line(out,
                         json_pack("{so sb sI sI sI}", "path", json_bytes(path), "ok", true,
                                   "documents", (json_int_t)facts->documents, "empty_documents",
                                   (json_int_t)facts->empty_documents, "tokens",
                                   (json_int_t)facts->tokens),
                         err);
    output_style(out, STYLE_GOOD);
    output_print(out, "ok");
    output_style(out, STYLE_PLAIN);
    output_print(out, " ");
    output_safe(out, path);
    output_print(out, " documents=%" PRIu64 " tokens=%" PRIu64 "\n", facts->documents,
                 facts->tokens);
    return output_flush(out, err);
}

/* The reason without the path at its head, which the line names already. */
static const char *reason_of(const struct error *why, const char *path)
{
    size_t length = strlen(path);
    if (!strncmp(why->text, path, length) && !strncmp(why->text + length, ": ", 2))
        return why->text + length + 2;
    return why->text;
}

static int print_bad(struct output *out, const char *path, const struct error *why, bool json,
                     struct error *err)
{
    const char *reason = reason_of(why, path);
    if (json)
        return json_line(out,
                         json_pack("{so sb so}", "path", json_bytes(path), "ok", false, "error",
                                   json_bytes(reason)),
                         err);
    output_style(out, STYLE_BAD);
    output_print(out, "bad");
    output_style(out, STYLE_PLAIN);
    output_print(out, " ");
    output_safe(out, path);
    output_print(out, ": ");
    output_safe(out, reason);
    output_print(out, "\n");
    return output_flush(out, err);
}

static int verify_one(struct verify *verify, const char *path, struct output *out,
                      struct error *err)
{
    struct shard_facts facts;
    struct error why = { 0 };
    int bad = shard_verify(path, verify->vocab_size, &facts, &why);
    progress_clear(&verify->progress);
    if (bad) {
        verify->bad++;
        return print_bad(out, path, &why, verify->json, err);
    }
    verify->good++;
    verify->documents += facts.documents;
    verify->tokens += facts.tokens;
    return print_good(out, path, &facts, verify->json, err);
}

/* For a person at a terminal; scripts get the lines alone. */
static void print_totals(struct output *out, const struct verify *verify)
{
    char shards[HUMAN_BYTES], documents[HUMAN_BYTES], tokens[HUMAN_BYTES], bad[HUMAN_BYTES];
    output_style(out, STYLE_TITLE);
    output_print(out, "%s good: %s documents, %s tokens", human_count(verify->good, shards),
                 human_count(verify->documents, documents), human_count(verify->tokens, tokens));
    if (verify->bad)
        output_print(out, "; %s bad", human_count(verify->bad, bad));
    output_style(out, STYLE_PLAIN);
    output_print(out, "\n");
}

int run_verify(const struct arguments *arguments, struct output *out, struct error *err)
{
    uint64_t vocab_size = argument_number(arguments, OPTION_VOCAB_SIZE, 0);
    if (vocab_size > UINT32_MAX)
        return error_set(err, EX_USAGE,
                         "--vocab-size: found %" PRIu64 ", expected at most %" PRIu32, vocab_size,
                         UINT32_MAX);
    struct verify verify = {
        .vocab_size = (uint32_t)vocab_size,
        .json = argument_given(arguments, OPTION_JSON),
    };
    progress_init(&verify.progress);
    for (int i = 0; i < arguments->operand_count; i++) {
        const char *path = arguments->operands[i];
        progress_show(&verify.progress, "checking shard %d of %d: %s", i + 1,
                      arguments->operand_count, path);
        int code = verify_one(&verify, path, out, err);
        if (code)
            return code;
    }
    if (out->terminal && !verify.json && arguments->operand_count > 1)
        print_totals(out, &verify);
    return verify.bad ? EX_DATAERR : 0;
}
