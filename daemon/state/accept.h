/*
 * Going on with a job whose corpus has changed (ballastd --accept-corpus-change): explicit, and
 * recorded in a ledger of the job that it becomes. Sources that are the same go on where they were;
 * the others begin anew, for nobody can tell which of their documents were served. What waited of
 * them is dropped.
 */
#ifndef BALLAST_STATE_ACCEPT_H
#define BALLAST_STATE_ACCEPT_H

#include "config/config.h"
#include "state/state_directory.h"

#define ACCEPT_NEWEST UINT64_MAX

/* What was accepted. */
struct accepted {
    bool nothing;         /* it was accepted before, or the corpus is the same as ever */
    uint64_t step;        /* the job goes on from here */
    struct digest former; /* the job that it was */
    size_t changed;       /* sources that begin anew */
    uint64_t dropped_pieces, dropped_tokens; /* of theirs, that waited */
};

/*
 * Finds the job of this configuration that was served last from the directory, which is locked, and
 * its furthest snapshot before or at `step`, and writes the ledger that goes on from there.
 * EX_USAGE: no such job, or no such snapshot, or the new corpus has snapshots of its own and no
 * step is named; EX_DATAERR; EX_IOERR, EX_CANTCREAT, EX_OSERR. Blocks on I/O.
 */
int corpus_accept(const struct config *config, const struct corpus *corpus,
                  const struct state_directory *directory, uint64_t step,
                  struct accepted *ret_accepted, struct error *err);

#endif
