/* Which tokens of a corpus were served: every one once, or the ledger says what is wrong. */
#ifndef BALLAST_TESTS_LEDGER_H
#define BALLAST_TESTS_LEDGER_H

#include <stdint.h>

#include "base/piece.h"
#include "corpus/corpus.h"

struct ledger {
    const struct corpus *corpus;
    unsigned char **tokens; /* [source] one byte for every token of the source, in order */
    uint64_t **starts;      /* [source][document] */
};

/* Nothing served yet; for sources of one epoch. Aborts when out of memory. */
struct ledger ledger_new(const struct corpus *corpus);
void ledger_free(struct ledger *ledger);

/* Enters a piece; NULL, or what is wrong with it. */
const char *ledger_serve(struct ledger *ledger, const struct piece *piece);

uint64_t ledger_unserved(const struct ledger *ledger); /* tokens */

#endif
