/* Opening a job: its planner, with the ledger that a state directory holds for it. */
#ifndef BALLAST_STATE_JOB_OPEN_H
#define BALLAST_STATE_JOB_OPEN_H

#include "plan/plan.h"
#include "state/state_directory.h"

/* Zero-initialise; job_close. The planner stands at the first step that can be planned. */
struct open_job {
    struct history *history;
    struct planner *planner;
};

/*
 * `config` may be that of step 0, or any that the ledger puts in force later; it and `corpus` must
 * outlive the job. `directory` is open, or NULL or not open: no ledger then. EX_DATAERR: the ledger
 * cannot be read, and going on without it would be another job; EX_CONFIG; EX_IOERR; errors of
 * planner_new. Blocks on I/O.
 */
int job_open(const struct config *config, const struct corpus *corpus,
             const struct state_directory *directory, struct open_job *ret_job, struct error *err);
void job_close(struct open_job *job);

/* A planner of a job's history alone, where job_open would leave it. Errors of planner_open. */
int job_planner(const struct history *history, const struct corpus *corpus,
                struct planner **ret_planner, struct error *err);

#endif
