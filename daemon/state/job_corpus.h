/* Opening the corpus of a job: before anybody knows which job it is. */
#ifndef BALLAST_STATE_JOB_CORPUS_H
#define BALLAST_STATE_JOB_CORPUS_H

#include "config/config.h"
#include "state/state_directory.h"

/*
 * corpus_open of the sources of `config`, where the shards that ledgers in `directory` drop may
 * have bad tokens (source.unread). Any ledger counts, for the job digest is made of the corpus:
 * one of another job drops nothing from this one, only reads fail later. `directory` is open, or
 * NULL or not open: nothing is dropped then. Ledgers that are torn are passed over; whoever opens
 * the job judges its own. EX_IOERR and EX_OSERR also when it cannot be known what they say.
 */
int job_corpus_open(const struct config *config, const struct state_directory *directory,
                    corpus_progress *progress, void *context, struct corpus **ret_corpus,
                    struct error *err);

#endif
