#include "serve/former_jobs.h"

#include <stdlib.h>

#include "state/job_file.h"

static struct former_job *find(struct former_jobs *jobs, struct digest job)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (digest_equal(jobs->jobs[i].digest, job))
            return &jobs->jobs[i];
    return NULL;
}

/* NULL when there is no room for another. */
static struct former_job *find_or_add(struct former_jobs *jobs, struct digest job)
{
    struct former_job *found = find(jobs, job);
    if (found || jobs->count == FORMER_JOBS_MOST)
        return found;
    jobs->jobs[jobs->count] = (struct former_job){ .digest = job };
    return &jobs->jobs[jobs->count++];
}

static void describe(struct former_job *former, const struct state_directory *directory,
                     const char *text)
{
    char *its_text;
    if (state_directory_read_job(directory, former->digest, &its_text, NULL))
        return;
    job_difference(its_text, text, former->difference, sizeof former->difference);
    free(its_text);
}

void former_jobs_find(struct former_jobs *jobs, const struct state_directory *directory,
                      const struct state_list *list, const struct lineage *lineage,
                      const char *text)
{
    const struct config *told;
    jobs->count = 0;
    for (size_t i = 0; i < list->job_count; i++) {
        const struct state_job *known = &list->jobs[i];
        struct former_job *former =
            lineage_knows(lineage, known->digest, &told) ? NULL : find_or_add(jobs, known->digest);
        if (former)
            former->served_ns = known->served_ns;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct state_entry *entry = &list->entries[i];
        struct former_job *former =
            lineage_knows(lineage, entry->job, &told) ? NULL : find_or_add(jobs, entry->job);
        if (!former)
            continue;
        former->snapshots++;
        former->newest_step = entry->step; /* they rise */
    }
    for (size_t i = 0; i < jobs->count; i++)
        describe(&jobs->jobs[i], directory, text);
}

const char *former_jobs_difference(const struct former_jobs *jobs, struct digest job)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (digest_equal(jobs->jobs[i].digest, job))
            return jobs->jobs[i].difference[0] ? jobs->jobs[i].difference : NULL;
    return NULL;
}

const char *former_jobs_last_difference(const struct former_jobs *jobs)
{
    const struct former_job *last = NULL;
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->jobs[i].difference[0] && (!last || jobs->jobs[i].served_ns > last->served_ns))
            last = &jobs->jobs[i];
    return last ? last->difference : NULL;
}
