/* ballastctl reshape, skip, drop: what changes in a job from a step on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "ctl/daemon.h"
#include "ctl/human.h"
#include "wire/limits.h"

#define WORDS_BEFORE 2 /* of `reshape`: the step, and "force" or nothing */

/* What is sent: words of at most WIRE_MAX_TEXT_BYTES. */
struct message {
    char words[WIRE_MAX_ARGUMENTS][WIRE_MAX_TEXT_BYTES + 1];
    const char *pointers[WIRE_MAX_ARGUMENTS];
    size_t count;
};

static int show_change(json_t *answer, struct output *out, struct error *err)
{
    json_int_t step, entries;
    const char *digest;
    json_error_t why;
    if (json_unpack_ex(answer, &why, 0, "{sI sI ss}", "step", &step, "entries", &entries, "digest",
                       &digest))
        return daemon_misfit(&why, err);
    char number[HUMAN_BYTES], count[HUMAN_BYTES];
    output_print(out, "in force from step %s on; the ledger has %s entr%s, digest %s\n",
                 human_count((uint64_t)step, number), human_count((uint64_t)entries, count),
                 entries == 1 ? "y" : "ies", digest);
    return 0;
}

static void add_word(struct message *message, const char *word)
{
    char *to = message->words[message->count];
    snprintf(to, sizeof message->words[0], "%s", word);
    message->pointers[message->count++] = to;
}

static void add_number(struct message *message, uint64_t number)
{
    char word[32];
    snprintf(word, sizeof word, "%llu", (unsigned long long)number);
    add_word(message, word);
}

static void add_force(struct message *message, const struct arguments *arguments)
{
    add_word(message, argument_given(arguments, OPTION_FORCE) ? "force" : "");
}

/* How much of the text fits one word without cutting a character in two. */
static size_t word_bytes(const char *text)
{
    size_t bytes = strlen(text);
    if (bytes <= WIRE_MAX_TEXT_BYTES)
        return bytes;
    bytes = WIRE_MAX_TEXT_BYTES;
    while (((unsigned char)text[bytes] & 0xc0) == 0x80)
        bytes--;
    return bytes;
}

/* Lines end with ';' on the way: no control character may stand in a word. */
static int add_description(struct message *message, char *text, struct error *err)
{
    for (char *c = text; *c; c++)
        *c = *c == '\n' ? ';' : *c;
    while (*text) {
        size_t bytes = word_bytes(text);
        if (message->count == WIRE_MAX_ARGUMENTS)
            return error_set(err, EX_USAGE,
                             "the settings do not fit a message to the daemon (%d words of %d "
                             "bytes): too many sources, or thresholds",
                             WIRE_MAX_ARGUMENTS - WORDS_BEFORE, WIRE_MAX_TEXT_BYTES);
        char kept = text[bytes];
        text[bytes] = '\0';
        add_word(message, text);
        text[bytes] = kept;
        text += bytes;
    }
    return 0;
}

static int describe(const struct arguments *arguments, char **ret_text, struct error *err)
{
    struct config *config = NULL;
    int code = config_load(argument_text(arguments, OPTION_CONFIG, ""), NULL, 0, &config, err);
    if (!code)
        code = config_description(config, ret_text, err);
    config_free(config);
    return code;
}

int run_reshape(const struct arguments *arguments, struct output *out, struct error *err)
{
    struct message message = { .count = 0 };
    char *text = NULL;
    add_number(&message, argument_number(arguments, OPTION_FROM_STEP, 0));
    add_force(&message, arguments);
    int code = describe(arguments, &text, err);
    if (!code)
        code = add_description(&message, text, err);
    free(text);
    if (!code)
        code = daemon_tell(arguments, message.pointers, message.count, show_change, out, err);
    return code;
}

/* A name that a word cannot hold is no shard's: file names are shorter. */
int run_drop(const struct arguments *arguments, struct output *out, struct error *err)
{
    struct message message = { .count = 0 };
    add_number(&message, argument_number(arguments, OPTION_FROM_STEP, 0));
    add_force(&message, arguments);
    for (int i = 0; i < arguments->operand_count; i++) {
        if (strlen(arguments->operands[i]) > WIRE_MAX_TEXT_BYTES)
            return error_set(err, EX_USAGE, "'%.40s...' is too long for a name",
                             arguments->operands[i]);
        add_word(&message, arguments->operands[i]);
    }
    return daemon_tell(arguments, message.pointers, message.count, show_change, out, err);
}

int run_skip(const struct arguments *arguments, struct output *out, struct error *err)
{
    struct message message = { .count = 0 };
    add_number(&message, argument_number(arguments, OPTION_FROM, 0));
    add_number(&message, argument_number(arguments, OPTION_TO, 0));
    add_force(&message, arguments);
    return daemon_tell(arguments, message.pointers, message.count, show_change, out, err);
}
