/* Ranks as threads, for tests. */
#ifndef BALLAST_TESTS_KERNELS_RANK_THREADS_H
#define BALLAST_TESTS_KERNELS_RANK_THREADS_H

#include <stdbool.h>

typedef void rank_body(int rank, void *context);

/* Runs `body` for ranks 0 up to `ranks` at once and waits for all. */
void rank_threads_run(int ranks, rank_body *body, void *context);

/* Waits until `holds` does, far longer than it should take; false when it did not. */
bool rank_threads_await(bool (*holds)(void *context), void *context);

#endif
