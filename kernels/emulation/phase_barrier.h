/* The state of an mbarrier, which the block keeps beside shared memory. */
#ifndef BALLAST_KERNELS_EMULATION_PHASE_BARRIER_H
#define BALLAST_KERNELS_EMULATION_PHASE_BARRIER_H

#include "kernels/emulation/clock.h"
#include "kernels/emulation/where.h"
#include <vector>

namespace emulation
{

struct phase_barrier {
    uint32_t offset; /* in shared memory */
    int count;       /* arrivals a phase */
    int pending;     /* of them still to come */
    long bytes = 0;  /* expected and not come yet; below 0 if copies are ahead */
    uint32_t phase = 0;
    stamp announced = 0;        /* when who made it fenced: for copies that are ordered after */
    stamp made_by;              /* who initialised it, when */
    clock_vector knows, fenced; /* of the phases that ended */
    clock_vector gathered_knows, gathered_fenced; /* of the phase that is on */
    std::vector<int> waiting;                     /* threads */
    where at;                                     /* of the last arrival */

    /* The clock of what copies bring in the phase that is on. */
    uint32_t copy_clock() const
    {
        return phase + 1;
    }
};

class block;

/* Index in the running block's; checks that the thread, or a copy it starts, may use it. */
int find_mbarrier(const void *pointer, bool by_copy, const where &at);

/* Copies have brought so many bytes. */
void bytes_came(block &b, phase_barrier &m, long bytes);

} // namespace emulation

#endif
