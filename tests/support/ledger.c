#include "support/ledger.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static void *zeros(size_t count, size_t bytes)
{
    void *array = calloc(count, bytes);
    if (!array) {
        fprintf(stderr, "ledger: out of memory\n");
        abort();
    }
    return array;
}

struct ledger ledger_new(const struct corpus *corpus)
{
    struct ledger ledger = { corpus, zeros(corpus->source_count, sizeof *ledger.tokens),
                             zeros(corpus->source_count, sizeof *ledger.starts) };
    for (size_t s = 0; s < corpus->source_count; s++) {
        const struct source *source = &corpus->sources[s];
        ledger.tokens[s] = zeros(source->tokens + 1, 1);
        ledger.starts[s] = zeros(source->documents + 1, sizeof **ledger.starts);
        for (uint64_t d = 0; d < source->documents; d++)
            ledger.starts[s][d + 1] = ledger.starts[s][d] + source_document_tokens(source, d);
    }
    return ledger;
}

void ledger_free(struct ledger *ledger)
{
    for (size_t s = 0; s < ledger->corpus->source_count; s++) {
        free(ledger->tokens[s]);
        free(ledger->starts[s]);
    }
    free(ledger->tokens);
    free(ledger->starts);
}

const char *ledger_serve(struct ledger *ledger, const struct piece *piece)
{
    const uint64_t *starts = ledger->starts[piece->source];
    uint64_t start = starts[piece->document] + piece->offset, end = start + piece->length;
    if (end > starts[piece->document + 1])
        return "a piece reaches over the end of its document";
    bool ends = piece->flags & PIECE_ENDS_DOCUMENT;
    if (ends != (end == starts[piece->document + 1]))
        return "PIECE_ENDS_DOCUMENT is wrong";
    for (uint64_t t = start; t < end; t++)
        if (ledger->tokens[piece->source][t]++)
            return "a token is served twice";
    return NULL;
}

uint64_t ledger_unserved(const struct ledger *ledger)
{
    uint64_t unserved = 0;
    for (size_t s = 0; s < ledger->corpus->source_count; s++)
        for (uint64_t t = 0; t < ledger->corpus->sources[s].tokens; t++)
            unserved += ledger->tokens[s][t] == 0;
    return unserved;
}
