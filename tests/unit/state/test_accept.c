/* Going on with another corpus: what is the same goes on, what changed begins anew, and it is said.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/accept.h"
#include "state/job_open.h"
#include "state/snapshot.h"
#include "support/length_job.h"

#define YAML                                                                                       \
    "context_window: 64\nparallel: { dp: 2 }\npacking: { policy: wlb, outlier_thresholds: [20] "   \
    "}\n"
#define BEFORE 12 /* steps with the first corpus */

static uint32_t *lengths;
static struct length_job job, other;
static struct temp_dir dir;
static struct state_directory directory;
static struct open_job opened;
static struct step_plan plan;
static struct planner_state state;
static struct error err;

/* Source a is the same in both, source b has one document more. */
static struct length_job open_sources(size_t documents_of_b, const char *yaml)
{
    struct length_source sources[] = { { "a", 1, 1, lengths, 200 },
                                       { "b", 1, 1, lengths + 200, documents_of_b } };
    return length_job_open(yaml, sources, 2);
}

static void write_state(struct digest digest)
{
    void *bytes;
    size_t count;
    cr_assert_eq(planner_save(opened.planner, &state, &err), 0);
    cr_assert_eq(snapshot_encode(&state, digest, &bytes, &count, &err), 0);
    cr_assert_eq(state_directory_write(&directory, digest, state.next_step, bytes, count, &err), 0);
    free(bytes);
}

/* The job as it was served: its text, and snapshots before steps 6 and 12. */
static void make(void)
{
    lengths = heavy_tailed_lengths(3, 401, 60);
    job = open_sources(200, YAML);
    other = open_sources(201, YAML);
    dir = temp_dir_make();
    directory = STATE_DIRECTORY_CLOSED(dir.path);
    cr_assert_eq(state_directory_open(&directory, &err), 0);
    cr_assert_eq(state_directory_lock(&directory, &err), 0);
    cr_assert_eq(job_open(job.config, job.corpus, NULL, &opened, &err), 0);
    struct digest digest = planner_job_digest(opened.planner);
    cr_assert_eq(
        state_directory_write_job(&directory, digest, planner_job_text(opened.planner), &err), 0);
    for (int step = 1; step <= BEFORE; step++) {
        cr_assert_eq(planner_step(opened.planner, &plan, &err), PLANNER_STEP);
        if (step % 6 == 0)
            write_state(digest);
    }
    job_close(&opened);
}

static void removed(void)
{
    job_close(&opened);
    step_plan_fini(&plan);
    planner_state_fini(&state);
    state_directory_close(&directory);
    temp_dir_remove(&dir);
    length_job_close(&job);
    length_job_close(&other);
    free(lengths);
}

TestSuite(accept, .init = make, .fini = removed);

static struct accepted accept_other(uint64_t step)
{
    struct accepted accepted;
    cr_assert_eq(corpus_accept(other.config, other.corpus, &directory, step, &accepted, &err), 0,
                 "%s", err.text);
    return accepted;
}

Test(accept, goes_on_where_the_job_was)
{
    struct digest last = plan.digest;
    uint64_t position = state.cursors[0].position, blended = state.cursors[1].blended;
    size_t waiting_of_a = 0, waiting_of_b = 0;
    for (size_t i = 0; i < state.waiting_count; i++) {
        waiting_of_a += state.waiting[i].piece.source == 0;
        waiting_of_b += state.waiting[i].piece.source == 1;
    }
    struct accepted accepted = accept_other(ACCEPT_NEWEST);
    cr_assert_not(accepted.nothing);
    cr_assert_eq(accepted.step, BEFORE);
    cr_assert_eq(accepted.changed, 1);
    cr_assert_eq(accepted.dropped_pieces, waiting_of_b);
    cr_assert_eq(job_open(other.config, other.corpus, &directory, &opened, &err), 0, "%s",
                 err.text);
    cr_assert_eq(planner_next_step(opened.planner), BEFORE);
    cr_assert_eq(history_first_step(opened.history), BEFORE);
    cr_assert(digest_equal(opened.history->ledger.origin.digest, last));
    cr_assert(digest_equal(opened.history->ledger.origin.former, accepted.former));
    cr_assert_eq(planner_cursors(opened.planner)[0].position, position);
    cr_assert_eq(planner_cursors(opened.planner)[1].position, 0);
    cr_assert_eq(planner_cursors(opened.planner)[1].blended, blended);
    cr_assert_eq(planner_save(opened.planner, &state, &err), 0);
    cr_assert_eq(state.waiting_count, waiting_of_a);
    cr_assert(!digest_equal(planner_digests(opened.planner)[0], planner_job_digest(opened.planner)),
              "bound to what it was");
    cr_assert_eq(planner_step(opened.planner, &plan, &err), PLANNER_STEP, "%s", err.text);
    cr_assert_eq(plan.step, BEFORE);
}

Test(accept, up_to_a_step)
{
    struct accepted accepted = accept_other(11);
    cr_assert_eq(accepted.step, 6);
    cr_assert_eq(job_open(other.config, other.corpus, &directory, &opened, &err), 0);
    cr_assert_eq(planner_next_step(opened.planner), 6);
}

Test(accept, before_the_first_snapshot_there_is_nothing_to_go_on_from)
{
    struct accepted accepted;
    cr_assert_eq(corpus_accept(other.config, other.corpus, &directory, 5, &accepted, &err),
                 EX_USAGE);
    cr_assert(strstr(err.text, "no snapshot of the former job"), "%s", err.text);
}

Test(accept, twice_is_once)
{
    accept_other(ACCEPT_NEWEST);
    cr_assert(accept_other(ACCEPT_NEWEST).nothing);
    cr_assert(accept_other(3).nothing);
}

Test(accept, what_has_not_changed_needs_no_acceptance)
{
    struct accepted accepted;
    cr_assert_eq(corpus_accept(job.config, job.corpus, &directory, ACCEPT_NEWEST, &accepted, &err),
                 0);
    cr_assert(accepted.nothing);
}

Test(accept, only_the_corpus_may_differ)
{
    struct length_job third = open_sources(201, YAML "seed: 5\n");
    struct accepted accepted;
    cr_assert_eq(
        corpus_accept(third.config, third.corpus, &directory, ACCEPT_NEWEST, &accepted, &err),
        EX_USAGE);
    cr_assert(strstr(err.text, "with another corpus"), "%s", err.text);
    length_job_close(&third);
}

/* A daemon that was started without the flag has left its own text, and perhaps a snapshot. */
Test(accept, also_after_the_new_corpus_was_served_as_a_job_of_its_own)
{
    cr_assert_eq(job_open(other.config, other.corpus, NULL, &opened, &err), 0);
    struct digest digest = planner_job_digest(opened.planner);
    cr_assert_eq(
        state_directory_write_job(&directory, digest, planner_job_text(opened.planner), &err), 0);
    cr_assert_eq(planner_step(opened.planner, &plan, &err), PLANNER_STEP);
    write_state(digest);
    job_close(&opened);
    struct accepted accepted;
    cr_assert_eq(
        corpus_accept(other.config, other.corpus, &directory, ACCEPT_NEWEST, &accepted, &err),
        EX_USAGE);
    cr_assert(strstr(err.text, "name the step"), "%s", err.text);
    cr_assert_eq(accept_other(BEFORE).step, BEFORE);
}
