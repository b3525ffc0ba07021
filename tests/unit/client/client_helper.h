/* What every test of the client does: start daemons, open a client, take batches. */
#ifndef BALLAST_TESTS_CLIENT_HELPER_H
#define BALLAST_TESTS_CLIENT_HELPER_H

#include <ballast/ballast.h>

#include "support/fake_daemon.h"

/* Longer than anything here takes: a wait that ends by this is a failure, not a measurement. */
#define PATIENCE_MS 20000

/* retry_ms where silence is what the test is about; elsewhere a slow machine must not look silent.
 */
#define SHORT_RETRY_MS 100
#define LONG_RETRY_MS 10000

/* A daemon on a port of its own choice; fails the test if it cannot start. */
struct fake_daemon *start(const struct fake_job *job);

/* Options for these daemons, in order, with LONG_RETRY_MS; the text is kept until the next call. */
ballast_options options_for(struct fake_daemon *first, struct fake_daemon *second);

/* Opens or fails the test. */
ballast_client *open_with(const ballast_options *options);

/* ballast_next, ballast_get: or fail the test, with the client's message. */
ballast_batch *take_next(ballast_client *client);
ballast_batch *take(ballast_client *client, uint64_t step, uint32_t slot);

/* Takes the next batch and checks step, slot and content against the job's. */
void expect_next(ballast_client *client, const struct fake_job *job, uint64_t step, uint32_t slot);

/* Waits until this micro-batch has been answered: another was asked for behind it. ballast_next,
 * which is called for that, must have nothing to hand over. */
void wait_for_answer(ballast_client *client, struct fake_daemon *daemon, uint64_t step,
                     uint32_t microbatch);

/* How often the daemon was asked for it. */
unsigned times_asked(struct fake_daemon *daemon, uint64_t step, uint32_t microbatch);

/* Checks every token and label of a batch against the job's. */
void expect_content(const ballast_view *view, const struct fake_job *job);

ballast_counters counters_of(const ballast_client *client);

#endif
