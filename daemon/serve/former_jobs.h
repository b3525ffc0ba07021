/*
 * Jobs that this daemon does not serve but whose text lies in its state directory, so that it can
 * say what has changed. Filled once, before the threads start; then any thread may read.
 */
#ifndef BALLAST_SERVE_FORMER_JOBS_H
#define BALLAST_SERVE_FORMER_JOBS_H

#include "serve/lineage.h"
#include "state/state_directory.h"

#define FORMER_JOBS_MOST 64
#define FORMER_JOB_TEXT_BYTES 640 /* with what stands in front, a status message takes it */

struct former_job {
    struct digest digest;
    int64_t served_ns;                      /* as in struct state_job */
    uint64_t snapshots, newest_step;        /* newest_step: 0 when there are none */
    char difference[FORMER_JOB_TEXT_BYTES]; /* from it to the job served; empty: unknown */
};

struct former_jobs {
    struct former_job jobs[FORMER_JOBS_MOST];
    size_t count;
};

/* Finds them in `list`: all but the job of `lineage`, described by `text`. Blocks on I/O. */
void former_jobs_find(struct former_jobs *jobs, const struct state_directory *directory,
                      const struct state_list *list, const struct lineage *lineage,
                      const char *text);

/* What has changed since that job, or NULL when it is not known. */
const char *former_jobs_difference(const struct former_jobs *jobs, struct digest job);

/* What has changed since the one of them served last, or NULL when it is not known. */
const char *former_jobs_last_difference(const struct former_jobs *jobs);

#endif
