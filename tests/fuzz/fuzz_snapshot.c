/*
 * A snapshot of any bytes, as it stands and with its checksum put right. What is accepted must give
 * the same bytes again, and either be refused for the corpus or be something that a planner takes;
 * what is refused must give one line.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "state/snapshot.h"

static void expect_one_line(const struct error *err)
{
    if (err->code != EX_DATAERR || err->text[0] == '\0' || strpbrk(err->text, "\r\n\x1b"))
        abort();
}

/* A corpus without documents: nothing may be looked up in it. */
static void judge(const struct planner_state *state)
{
    struct source source = { .name = (char *)(size_t) "a" };
    struct corpus corpus = { .sources = &source, .source_count = 1 };
    struct error err = { 0 };
    if (snapshot_fits(state, &corpus, 512, &err))
        expect_one_line(&err);
    else if (state->waiting_count)
        abort();
}

static void try(const uint8_t *bytes, size_t count)
{
    struct planner_state state = { 0 };
    struct digest job;
    struct error err = { 0 };
    if (snapshot_decode(bytes, count, &state, &job, &err)) {
        expect_one_line(&err);
        planner_state_fini(&state);
        return;
    }
    void *again;
    size_t again_count;
    if (snapshot_encode(&state, job, &again, &again_count, &err) || again_count != count ||
        memcmp(again, bytes, count) != 0)
        abort();
    judge(&state);
    free(again);
    planner_state_fini(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    try(bytes, count);
    if (count < DIGEST_BYTES)
        return 0;
    uint8_t *mended = malloc(count);
    if (!mended)
        abort();
    memcpy(mended, bytes, count);
    struct digest sum = digest_chain((struct digest){ 0 }, bytes, count - DIGEST_BYTES);
    memcpy(mended + count - DIGEST_BYTES, sum.bytes, DIGEST_BYTES);
    try(mended, count);
    free(mended);
    return 0;
}
