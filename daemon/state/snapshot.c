#include "state/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define FLAG_ENDED 1u
#define FLAG_FINISHED 2u
#define KNOWN_FLAGS (FLAG_ENDED | FLAG_FINISHED)

/* The fixed part, laid out without padding; piece.h asserts the byte order. */
struct head {
    char magic[8];
    uint32_t version, flags;
    struct digest job;
    uint64_t next_step;
    struct digest digest;
    uint64_t dropped_pieces, dropped_tokens;
    uint64_t cursors, waiting;
};

_Static_assert(sizeof(struct head) == 88, "struct head is written as it lies");
_Static_assert(sizeof(struct source_cursor) == 72, "struct source_cursor is written as it lies");
_Static_assert(sizeof(struct waiting_piece) == 40, "struct waiting_piece is written as it lies");

static const char magic[8] = { 'B', 'L', 'S', 'T', 'S', 'N', 'A', 'P' };

static size_t encoded_bytes(const struct planner_state *state)
{
    return sizeof(struct head) + state->cursor_count * sizeof *state->cursors +
           state->waiting_count * sizeof *state->waiting + DIGEST_BYTES;
}

static unsigned char *append(unsigned char *to, const void *from, size_t count)
{
    if (count)
        memcpy(to, from, count);
    return to + count;
}

int snapshot_encode(const struct planner_state *state, struct digest job, void **ret_bytes,
                    size_t *ret_count, struct error *err)
{
    size_t count = encoded_bytes(state);
    unsigned char *bytes = malloc(count);
    if (!bytes)
        return error_memory(err, "writing a snapshot");
    struct head head = { .version = SNAPSHOT_VERSION,
                         .flags = (state->ended ? FLAG_ENDED : 0) |
                                  (state->finished ? FLAG_FINISHED : 0),
                         .job = job,
                         .next_step = state->next_step,
                         .digest = state->digest,
                         .dropped_pieces = state->dropped_pieces,
                         .dropped_tokens = state->dropped_tokens,
                         .cursors = state->cursor_count,
                         .waiting = state->waiting_count };
    memcpy(head.magic, magic, sizeof magic);
    unsigned char *at = append(bytes, &head, sizeof head);
    at = append(at, state->cursors, state->cursor_count * sizeof *state->cursors);
    at = append(at, state->waiting, state->waiting_count * sizeof *state->waiting);
    struct digest sum = digest_chain((struct digest){ 0 }, bytes, (size_t)(at - bytes));
    append(at, sum.bytes, DIGEST_BYTES);
    *ret_bytes = bytes;
    *ret_count = count;
    return 0;
}

static int bad(struct error *err, const char *what)
{
    return error_set(err, EX_DATAERR, "%s", what);
}

/* Size before checksum, so that a file that was cut short is called that. */
static int check_head(const struct head *head, size_t count, struct error *err)
{
    if (memcmp(head->magic, magic, sizeof magic) != 0)
        return bad(err, "it does not begin with BLSTSNAP: it is no snapshot");
    if (head->version != SNAPSHOT_VERSION)
        return error_set(err, EX_DATAERR,
                         "found version %u, expected %u: another version of Ballast wrote it",
                         head->version, SNAPSHOT_VERSION);
    size_t rest = count - sizeof *head - DIGEST_BYTES;
    size_t most = SNAPSHOT_MOST_BYTES / sizeof(struct waiting_piece);
    if (head->cursors > most || head->waiting > most ||
        rest != head->cursors * sizeof(struct source_cursor) +
                    head->waiting * sizeof(struct waiting_piece))
        return error_set(err, EX_DATAERR, "found %zu bytes, and its head speaks of others: torn",
                         count);
    return 0;
}

static int check_sum(const unsigned char *bytes, size_t count, struct error *err)
{
    struct digest found, sum = digest_chain((struct digest){ 0 }, bytes, count - DIGEST_BYTES);
    memcpy(found.bytes, bytes + count - DIGEST_BYTES, DIGEST_BYTES);
    return digest_equal(found, sum) ? 0 : bad(err, "its checksum is wrong: torn or damaged");
}

static int check_flags(uint32_t flags, struct error *err)
{
    if (flags & ~KNOWN_FLAGS || (flags & KNOWN_FLAGS) == FLAG_FINISHED)
        return error_set(err, EX_DATAERR, "found flags 0x%x, which mean nothing", flags);
    return 0;
}

static int read_lists(const unsigned char *at, const struct head *head, struct planner_state *state,
                      struct error *err)
{
    size_t cursors = (size_t)head->cursors, waiting = (size_t)head->waiting;
    if (!grow(state->cursors, &state->cursor_capacity, cursors) ||
        !grow(state->waiting, &state->waiting_capacity, waiting))
        return error_memory(err, "reading a snapshot");
    if (cursors)
        memcpy(state->cursors, at, cursors * sizeof *state->cursors);
    if (waiting)
        memcpy(state->waiting, at + cursors * sizeof *state->cursors,
               waiting * sizeof *state->waiting);
    state->cursor_count = cursors;
    state->waiting_count = waiting;
    for (size_t i = 0; i < waiting; i++)
        if (state->waiting[i].zero || state->waiting[i].piece.length == 0)
            return error_set(err, EX_DATAERR, "waiting piece %zu is none", i);
    return 0;
}

int snapshot_decode(const void *bytes, size_t count, struct planner_state *state,
                    struct digest *ret_job, struct error *err)
{
    struct head head;
    if (count < sizeof head + DIGEST_BYTES)
        return error_set(err, EX_DATAERR, "found %zu bytes, too few for a snapshot: torn", count);
    if (count > SNAPSHOT_MOST_BYTES)
        return error_set(err, EX_DATAERR, "found %zu bytes, expected at most %zu", count,
                         SNAPSHOT_MOST_BYTES);
    memcpy(&head, bytes, sizeof head);
    int failed = check_head(&head, count, err);
    if (!failed)
        failed = check_sum(bytes, count, err);
    if (!failed)
        failed = check_flags(head.flags, err);
    if (!failed)
        failed = read_lists((const unsigned char *)bytes + sizeof head, &head, state, err);
    if (failed)
        return failed;
    state->next_step = head.next_step;
    state->digest = head.digest;
    state->ended = (head.flags & FLAG_ENDED) != 0;
    state->finished = (head.flags & FLAG_FINISHED) != 0;
    state->dropped_pieces = head.dropped_pieces;
    state->dropped_tokens = head.dropped_tokens;
    *ret_job = head.job;
    return 0;
}
