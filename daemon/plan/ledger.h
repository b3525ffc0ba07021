/*
 * The ledger of a job: what changed, from which step on (ARCHITECTURE.md, The ledger). No entry
 * begins before the one in front of it, so a step depends on those up to it and no others.
 *
 * As a file it is a text, so that people can read what happened to their job:
 *     ballast ledger 1
 *     job 0123456789abcdef0123456789abcdef     the job digest without any entry
 *     start                                    its settings, a line each behind one blank
 *      parallel={"dp": "4", ...}
 *     accept 80 0123... 4567... 424c...        perhaps: it goes on from step 80 of that job, ...
 *     reshape 100                              other settings from step 100 on
 *      parallel={"dp": "2", ...}
 *     skip 150 170                             the data of steps 150 to 170 are left out
 *     drop 180 web 17 web-017.idx              no documents of that shard from step 180 on
 *     sum 0123456789abcdef0123456789abcdef     XXH3-128 of all before this line
 *
 * accept: ... which had another corpus, behind that digest, with this snapshot.
 *
 * There is one way to write a ledger, and no other is read. Pure: no I/O.
 */
#ifndef BALLAST_PLAN_LEDGER_H
#define BALLAST_PLAN_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/digest.h"
#include "base/error.h"

#define LEDGER_MOST_ENTRIES 1024
#define LEDGER_MOST_SKIPPED 4096 /* steps, of one entry: they are planned in one go */
#define LEDGER_MOST_BYTES ((size_t)4 << 20)
#define LEDGER_MOST_STATE ((size_t)1 << 20) /* bytes of a snapshot that a job goes on from */

enum ledger_kind { LEDGER_RESHAPE, LEDGER_SKIP, LEDGER_DROP };

struct ledger_entry {
    enum ledger_kind kind;
    uint64_t step;      /* the first that is other than it would be */
    uint64_t last_step; /* SKIP: the data of `step` up to this step are left out */
    char *settings;     /* RESHAPE: config_settings of what holds from then on */
    char *source;       /* DROP: of the source of this name ... */
    uint32_t shard;     /* ... the shard of this number, in order of name from 0, ... */
    char *shard_name;   /* ... which is the base name of its file */
};

/* Frees what an entry of the caller's holds. */
void ledger_entry_fini(struct ledger_entry *entry);

/* "reshape", "skip" or "drop". */
const char *ledger_kind_name(enum ledger_kind kind);

/* Where a job goes on that had another corpus: what was before cannot be planned any more. */
struct ledger_origin {
    uint64_t step;        /* the first of this job */
    struct digest former; /* job digest up to then */
    struct digest digest; /* of step - 1 */
    unsigned char *state; /* a snapshot before `step`, as state/snapshot.h has it; NULL: step 0 */
    size_t state_bytes;
};

/* Zero-initialise; job_ledger_fini. */
struct job_ledger {
    struct digest job;
    char *settings; /* of the first step; NULL while there is no entry */
    struct ledger_origin origin;
    struct ledger_entry *entries;
    size_t count, capacity;
};

void job_ledger_fini(struct job_ledger *ledger);

/* EX_OSERR; `to`, zeroed, is then empty. */
int job_ledger_copy(const struct job_ledger *from, struct job_ledger *to, struct error *err);

/*
 * Adds a copy of `entry` at the end. EX_USAGE when it begins before the last one, or is none that
 * can be; EX_OSERR. The ledger is untouched then.
 */
int job_ledger_append(struct job_ledger *ledger, const struct ledger_entry *entry,
                      struct error *err);

/* The same, but in front of the entries that begin later. For changes that cannot wait: what those
 * entries make of the job becomes something else. */
int job_ledger_insert(struct job_ledger *ledger, const struct ledger_entry *entry,
                      struct error *err);

/* How many entries a state before `next_step` has behind it: those that begin before. */
size_t job_ledger_before(const struct job_ledger *ledger, uint64_t next_step);

/*
 * Does the ledger drop this shard of the source of that name? From *ret_step on, which is untouched
 * where it does not.
 */
bool job_ledger_drops(const struct job_ledger *ledger, const char *source, size_t shard,
                      uint64_t *ret_step);

/* Writes an entry's first line, as the ledger has it. */
void ledger_entry_write(FILE *file, const struct ledger_entry *entry);

/* The text is the caller's to free. EX_OSERR; EX_CANTCREAT when it would be too large. */
int job_ledger_encode(const struct job_ledger *ledger, char **ret_text, size_t *ret_bytes,
                      struct error *err);

/*
 * Reads any bytes at all into a zeroed ledger, which is right for job_ledger_fini afterwards
 * whatever happened. EX_DATAERR says what is wrong, in one line.
 */
int job_ledger_decode(const char *text, size_t bytes, struct job_ledger *ledger, struct error *err);

#endif
