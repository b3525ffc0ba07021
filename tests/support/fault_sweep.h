/*
 * Sweeps within a test's own process: every allocation of the calling thread fails in turn. The
 * test runs with the shim preloaded: ballast_fault_sweep of CMakeLists.txt beside this sees to
 * that.
 */
#ifndef BALLAST_TESTS_FAULT_SWEEP_H
#define BALLAST_TESTS_FAULT_SWEEP_H

#include <stdbool.h>

/* False where the shim is not preloaded, or a sanitizer's allocator stands before it. */
bool fault_sweep_possible(void);

/* From now on this thread's `at`-th allocation, counted from 1, fails. */
void fault_sweep_arm(unsigned long long at);

/* No more; true when an allocation has failed. */
bool fault_sweep_disarm(void);

#endif
