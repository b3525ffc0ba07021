/*
 * What a job is, as text: a line each for configuration and sources (planner_job_text). Kept beside
 * the snapshots so that a daemon of another job can say what has changed. Pure.
 */
#ifndef BALLAST_STATE_JOB_FILE_H
#define BALLAST_STATE_JOB_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define JOB_FILE_MOST_BYTES ((size_t)4 << 20)

/*
 * What differs, into `text` of `bytes`: "seed=1 -> seed=2; source web: weight=1 -> weight=2;
 * corpus web: fingerprint differs". Cut at the end of a difference where it is too long; empty when
 * nothing differs. Returns `text`.
 */
const char *job_difference(const char *old_job, const char *new_job, char *text, size_t bytes);

/* Do the jobs differ in nothing but their corpus, and in the length of their ledgers? */
bool job_same_configuration(const char *old_job, const char *new_job);

/* Does the source of that name hold the same in both, shards and all? */
bool job_same_source(const char *old_job, const char *new_job, const char *source);

#endif
