/* The ledger as the text of a file, and back. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/ledger.h"

#define FIRST_LINE "ballast ledger 1\n"
#define FIRST_WORDS "ballast ledger "
#define SUM_BYTES (sizeof "sum " - 1 + 2 * DIGEST_BYTES + 1)

/* ---- writing ---- */

static void write_settings(FILE *file, const char *settings)
{
    for (const char *line = settings; *line;) {
        size_t count = strcspn(line, "\n");
        fprintf(file, " %.*s\n", (int)count, line);
        line += count + (line[count] == '\n');
    }
}

static void write_origin(FILE *file, const struct ledger_origin *origin)
{
    char former[DIGEST_TEXT_BYTES], digest[DIGEST_TEXT_BYTES];
    if (!origin->state)
        return;
    fprintf(file, "accept %llu %s %s ", (unsigned long long)origin->step,
            digest_text(origin->former, former), digest_text(origin->digest, digest));
    for (size_t i = 0; i < origin->state_bytes; i++)
        fprintf(file, "%02x", origin->state[i]);
    fputc('\n', file);
}

void ledger_entry_write(FILE *file, const struct ledger_entry *entry)
{
    fprintf(file, "%s %" PRIu64, ledger_kind_name(entry->kind), entry->step);
    if (entry->kind == LEDGER_SKIP)
        fprintf(file, " %" PRIu64, entry->last_step);
    else if (entry->kind == LEDGER_DROP)
        fprintf(file, " %s %" PRIu32 " %s", entry->source, entry->shard, entry->shard_name);
    fputc('\n', file);
}

static void write_body(FILE *file, const struct job_ledger *ledger)
{
    char digest[DIGEST_TEXT_BYTES];
    fprintf(file, FIRST_LINE "job %s\nstart\n", digest_text(ledger->job, digest));
    write_settings(file, ledger->settings ? ledger->settings : "");
    write_origin(file, &ledger->origin);
    for (size_t i = 0; i < ledger->count; i++) {
        ledger_entry_write(file, &ledger->entries[i]);
        if (ledger->entries[i].settings)
            write_settings(file, ledger->entries[i].settings);
    }
}

static struct digest sum_of(const char *text, size_t bytes)
{
    return digest_chain((struct digest){ 0 }, text, bytes);
}

int job_ledger_encode(const struct job_ledger *ledger, char **ret_text, size_t *ret_bytes,
                      struct error *err)
{
    static const char what[] = "writing the ledger";
    struct text body;
    int status = text_open(&body, what, err);
    if (status)
        return status;
    write_body(body.file, ledger);
    fflush(body.file); /* what fails here fails again at the end */
    char *text, sum[DIGEST_TEXT_BYTES];
    size_t bytes;
    fprintf(body.file, "sum %s\n", digest_text(sum_of(body.bytes, body.count), sum));
    status = text_close(&body, what, &text, &bytes, err);
    if (status)
        return status;
    if (bytes > LEDGER_MOST_BYTES) {
        free(text);
        return error_set(err, EX_CANTCREAT, "the ledger would have %zu bytes, at most %zu", bytes,
                         LEDGER_MOST_BYTES);
    }
    *ret_text = text;
    *ret_bytes = bytes;
    return 0;
}

/* ---- reading ---- */

struct reader {
    const char *at, *end;
    unsigned line; /* of `at`, from 1 */
    struct error *err;
};

static int bad(const struct reader *reader, const char *what)
{
    return error_set(reader->err, EX_DATAERR, "line %u: %s", reader->line, what);
}

static bool begins(const struct reader *reader, const char *words)
{
    size_t count = strlen(words);
    return (size_t)(reader->end - reader->at) >= count && memcmp(reader->at, words, count) == 0;
}

/* Takes `words` off the front; false when something else stands there. */
static bool take(struct reader *reader, const char *words)
{
    if (!begins(reader, words))
        return false;
    reader->at += strlen(words);
    reader->line += words[strlen(words) - 1] == '\n';
    return true;
}

/* A number as it is written: no sign, no leading zero. */
static bool take_number(struct reader *reader, uint64_t *ret_number)
{
    const char *start = reader->at;
    uint64_t number = 0;
    for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*reader->at - '0'), &number))
            return false;
    *ret_number = number;
    return reader->at > start && (*start != '0' || reader->at == start + 1);
}

/* `count` bytes, each as two hexadecimal digits. */
static bool take_hex(struct reader *reader, unsigned char *ret_bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    if ((size_t)(reader->end - reader->at) < 2 * count)
        return false;
    for (size_t i = 0; i < 2 * count; i++) {
        const char *digit = reader->at[i] ? strchr(digits, reader->at[i]) : NULL;
        if (!digit)
            return false;
        unsigned char *byte = &ret_bytes[i / 2];
        *byte = (unsigned char)((i % 2 ? *byte << 4 : 0) | (digit - digits));
    }
    reader->at += 2 * count;
    return true;
}

static bool take_digest(struct reader *reader, struct digest *ret_digest)
{
    return take_hex(reader, ret_digest->bytes, DIGEST_BYTES);
}

/* One character of a setting: of a line of text, whatever its language. */
static bool printable(char c)
{
    return (unsigned char)c >= ' ' && c != 127;
}

/* The lines behind a blank, without it, joined. Never NULL unless memory is out. */
static int take_settings(struct reader *reader, char **ret_settings)
{
    char *settings = malloc((size_t)(reader->end - reader->at) + 1), *to = settings;
    if (!settings)
        return error_memory(reader->err, "reading the ledger");
    while (take(reader, " ")) {
        const char *equals = NULL, *start = reader->at;
        for (; reader->at < reader->end && printable(*reader->at); reader->at++)
            equals = !equals && *reader->at == '=' ? reader->at : equals;
        size_t count = (size_t)(reader->at - start);
        if (!equals || equals == start || !begins(reader, "\n")) {
            free(settings);
            return bad(reader, "expected a setting, KEY=VALUE");
        }
        memcpy(to, start, count + 1);
        to += count + 1;
        take(reader, "\n");
    }
    *to = '\0';
    *ret_settings = settings;
    return 0;
}

static int take_state(struct reader *reader, struct ledger_origin *origin)
{
    const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    size_t digits = end ? (size_t)(end - reader->at) : 0;
    if (digits < 2 || digits % 2 || digits / 2 > LEDGER_MOST_STATE)
        return bad(reader, "expected a snapshot in hexadecimal digits");
    origin->state = malloc(digits / 2);
    if (!origin->state)
        return error_memory(reader->err, "reading the ledger");
    origin->state_bytes = digits / 2;
    if (!take_hex(reader, origin->state, origin->state_bytes) || !take(reader, "\n"))
        return bad(reader, "expected a snapshot in hexadecimal digits");
    return 0;
}

/* There need be none. */
static int take_origin(struct reader *reader, struct ledger_origin *origin)
{
    if (!take(reader, "accept "))
        return 0;
    if (!take_number(reader, &origin->step) || origin->step == 0 || !take(reader, " ") ||
        !take_digest(reader, &origin->former) || !take(reader, " ") ||
        !take_digest(reader, &origin->digest) || !take(reader, " "))
        return bad(reader, "expected accept STEP JOB DIGEST SNAPSHOT");
    return take_state(reader, origin);
}

static int append(const struct reader *reader, struct job_ledger *ledger,
                  const struct ledger_entry *entry)
{
    struct error why = { 0 };
    int status = job_ledger_append(ledger, entry, &why);
    return status == EX_USAGE ? bad(reader, why.text)
                              : (status ? error_set(reader->err, status, "%s", why.text) : 0);
}

static int take_skip(struct reader *reader, struct job_ledger *ledger)
{
    struct ledger_entry entry = { .kind = LEDGER_SKIP };
    if (!take_number(reader, &entry.step) || !take(reader, " ") ||
        !take_number(reader, &entry.last_step) || !take(reader, "\n"))
        return bad(reader, "expected skip FIRST LAST, two steps");
    return append(reader, ledger, &entry);
}

static int take_reshape(struct reader *reader, struct job_ledger *ledger)
{
    struct ledger_entry entry = { .kind = LEDGER_RESHAPE };
    if (!take_number(reader, &entry.step) || !take(reader, "\n"))
        return bad(reader, "expected reshape STEP");
    int status = take_settings(reader, &entry.settings);
    if (!status)
        status = append(reader, ledger, &entry);
    ledger_entry_fini(&entry);
    return status;
}

static int bad_drop(const struct reader *reader)
{
    return bad(reader, "expected drop STEP SOURCE NUMBER NAME");
}

/* A word of a line, or with `end` '\n' all that is left of it. */
static int take_words(struct reader *reader, char end, char **ret_words)
{
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at != end && printable(*reader->at))
        reader->at++;
    size_t count = (size_t)(reader->at - start);
    char ending[] = { end, '\0' };
    if (count == 0 || !take(reader, ending))
        return bad_drop(reader);
    *ret_words = strndup(start, count);
    return *ret_words ? 0 : error_memory(reader->err, "reading the ledger");
}

static int take_shard(struct reader *reader, struct ledger_entry *entry)
{
    uint64_t number = 0;
    if (!take_number(reader, &entry->step) || !take(reader, " "))
        return bad_drop(reader);
    int status = take_words(reader, ' ', &entry->source);
    if (status)
        return status;
    if (!take_number(reader, &number) || number > UINT32_MAX || !take(reader, " "))
        return bad_drop(reader);
    entry->shard = (uint32_t)number;
    return take_words(reader, '\n', &entry->shard_name);
}

static int take_drop(struct reader *reader, struct job_ledger *ledger)
{
    struct ledger_entry entry = { .kind = LEDGER_DROP };
    int status = take_shard(reader, &entry);
    if (!status)
        status = append(reader, ledger, &entry);
    ledger_entry_fini(&entry);
    return status;
}

static int take_entries(struct reader *reader, struct job_ledger *ledger)
{
    int status = 0;
    while (!status && reader->at < reader->end) {
        if (take(reader, "reshape "))
            status = take_reshape(reader, ledger);
        else if (take(reader, "skip "))
            status = take_skip(reader, ledger);
        else if (take(reader, "drop "))
            status = take_drop(reader, ledger);
        else
            status = bad(reader, "expected reshape, skip, drop or sum");
    }
    return status;
}

static int take_head(struct reader *reader, struct job_ledger *ledger)
{
    if (!begins(reader, FIRST_WORDS))
        return bad(reader, "it does not begin with 'ballast ledger': it is no ledger");
    if (!take(reader, FIRST_LINE))
        return bad(reader, "expected version 1: another version of Ballast wrote it");
    if (!take(reader, "job ") || !take_digest(reader, &ledger->job) || !take(reader, "\nstart\n"))
        return bad(reader, "expected the job and its start");
    reader->line++;
    int status = take_settings(reader, &ledger->settings);
    return status ? status : take_origin(reader, &ledger->origin);
}

/* Size before checksum, so that a file that was cut short is called that. */
static int check_sum(const char *text, size_t bytes, struct error *err)
{
    struct digest found;
    if (bytes > LEDGER_MOST_BYTES)
        return error_set(err, EX_DATAERR, "found %zu bytes, expected at most %zu", bytes,
                         LEDGER_MOST_BYTES);
    struct reader reader = { bytes > SUM_BYTES ? text + bytes - SUM_BYTES : text, text + bytes, 0,
                             err };
    if (bytes <= SUM_BYTES || !take(&reader, "sum ") || !take_digest(&reader, &found) ||
        !take(&reader, "\n"))
        return error_set(err, EX_DATAERR, "it does not end with its checksum: torn, or no ledger");
    if (!digest_equal(found, sum_of(text, bytes - SUM_BYTES)))
        return error_set(err, EX_DATAERR,
                         "its checksum is wrong: damaged, or changed by hand, which is not "
                         "supported");
    return 0;
}

int job_ledger_decode(const char *text, size_t bytes, struct job_ledger *ledger, struct error *err)
{
    int status = check_sum(text, bytes, err);
    if (status)
        return status;
    struct reader reader = { text, text + bytes - SUM_BYTES, 1, err };
    status = take_head(&reader, ledger);
    return status ? status : take_entries(&reader, ledger);
}
