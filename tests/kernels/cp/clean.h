/* What must be true when everything was closed and freed, whatever had become of it. */
#ifndef BALLAST_TESTS_KERNELS_CP_CLEAN_H
#define BALLAST_TESTS_KERNELS_CP_CLEAN_H

#include <criterion/criterion.h>

#include "kernels/emulation/fault.h"
#include "kernels/emulation/memory.h"
#include "nccl_stand_in.h"

static inline void cr_assert_clean(void)
{
    struct nccl_stand_in_counters counters;
    nccl_stand_in_get_counters(&counters);
    cr_assert_eq(counters.communicators, 0);
    cr_assert_eq(counters.waiting, 0);
    cr_assert_eq(emulation_live_allocations(), 0);
    cr_assert_eq(emulation_faults(), 0, "%s", emulation_fault_text());
}

#endif
