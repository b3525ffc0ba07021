/* One line on a terminal's standard error that says how far a long command has come. */
#ifndef BALLAST_CTL_PROGRESS_H
#define BALLAST_CTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool enabled; /* standard error is a terminal */
    bool shown;
    uint64_t due_ms; /* when the line may change again */
};

void progress_init(struct progress *progress);

/* Is it time for another line? Ask before composing one. */
bool progress_due(struct progress *progress);

/* Replaces the line. */
__attribute__((format(printf, 2, 3))) void progress_show(struct progress *progress,
                                                         const char *format, ...);

/* Takes the line away; call before anything else is printed. */
void progress_clear(struct progress *progress);

/* A corpus_progress callback; `context` is a struct progress. */
void progress_corpus(void *context, const char *path, uint64_t done, uint64_t total);

#endif
