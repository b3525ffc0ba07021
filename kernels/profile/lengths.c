#include "kernels/profile/lengths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "kernels/profile/fail.h"

#define MAX_LENGTH (UINT32_C(1) << 28)

void profile_lengths_fini(struct profile_lengths *lengths)
{
    free(lengths->items);
    *lengths = (struct profile_lengths){ 0 };
}

static int append(struct profile_lengths *lengths, uint32_t length, ballast_attention_error *error)
{
    if (lengths->count == lengths->capacity) {
        size_t more = lengths->capacity ? 2 * lengths->capacity : 1024;
        uint32_t *moved = realloc(lengths->items, more * sizeof *moved);
        if (!moved)
            return profile_fail(error, EX_OSERR, "no memory for %zu document lengths", more);
        lengths->items = moved;
        lengths->capacity = more;
    }
    lengths->items[lengths->count++] = length;
    return 0;
}

static int read_line(const char *path, const char *line, struct profile_lengths *lengths,
                     ballast_attention_error *error)
{
    char *end;
    unsigned long length = strtoul(line, &end, 10);
    if (*line < '0' || *line > '9' || (*end && *end != '\n') || length > MAX_LENGTH)
        return profile_fail(error, EX_DATAERR,
                            "%s:%zu: found '%.*s', expected a document length, 0 to 2^28", path,
                            lengths->count + 1, (int)strcspn(line, "\n"), line);
    return append(lengths, (uint32_t)length, error);
}

int profile_lengths_read(const char *path, struct profile_lengths *lengths,
                         ballast_attention_error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return profile_fail(error, EX_NOINPUT, "%s: cannot read the lengths: %s", path,
                            strerror(errno));
    char line[32];
    uint64_t tokens = 0;
    int status = 0;
    while (!status && lengths->count < PROFILE_MAX_LENGTHS && fgets(line, sizeof line, file)) {
        status = read_line(path, line, lengths, error);
        tokens += status ? 0 : lengths->items[lengths->count - 1];
    }
    if (!status && ferror(file))
        status = profile_fail(error, EX_NOINPUT, "%s: cannot read the lengths", path);
    fclose(file);
    if (!status && !tokens)
        status =
            profile_fail(error, EX_DATAERR, "%s: found no token, expected document lengths", path);
    return status;
}

int profile_lengths_pack(const struct profile_lengths *lengths, size_t *position, uint32_t window,
                         uint32_t cp, uint32_t rank, struct profile_pack *pack,
                         ballast_attention_error *error)
{
    uint32_t dealer = 0;
    while (profile_pack_tokens(pack) < window) {
        uint32_t length = lengths->items[*position];
        uint32_t room = window - profile_pack_tokens(pack);
        *position = (*position + 1) % lengths->count;
        if (length &&
            !profile_pack_add_share(pack, length < room ? length : room, cp, rank, &dealer))
            return profile_fail(error, EX_OSERR, "no memory for a pack of %u tokens", window);
    }
    return 0;
}
