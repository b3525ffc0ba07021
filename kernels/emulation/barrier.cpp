#include "kernels/emulation/barrier.h"

#include "kernels/emulation/block.h"
#include "kernels/emulation/fault.h"

namespace emulation
{

static void complete(block &b, named_barrier_state &barrier)
{
    for (uint32_t rest = barrier.waiting; rest != 0; rest &= rest - 1) {
        warp &w = b.warps[static_cast<size_t>(__builtin_ctz(rest))];
        b.acquire(w, barrier.knows, barrier.fenced);
        b.leave(w);
    }
    barrier = named_barrier_state{};
}

/* The running thread's warp comes as a whole; if `waits`, it goes on when the barrier completes. */
static void come(block &b, int id, int threads, bool waits, const where &at)
{
    warp &w = b.this_warp();
    named_barrier_state &barrier = b.barriers[static_cast<size_t>(id)];
    if (barrier.arrived != 0 && barrier.expected != threads) {
        report(EMULATION_DIVERGENT, at, "barrier %d for %d threads is under way as one for %d", id,
               threads, barrier.expected);
        b.give_up();
    }
    barrier.expected = threads;
    barrier.arrived += warp_threads;
    b.release(w, &barrier.knows, &barrier.fenced);
    b.tick(w);
    if (waits) {
        w.waits_at = id;
        barrier.waiting |= uint32_t{ 1 } << b.index_of(w);
    } else {
        b.leave(w);
    }
    if (barrier.arrived == barrier.expected)
        complete(b, barrier);
}

static void check_operands(block &b, int id, int threads, const where &at)
{
    if (id >= 1 && id < named_barriers && threads > 0 && threads % warp_threads == 0)
        return;
    report(EMULATION_MISUSE, at, "barrier %d for %d threads: there are 1 to 15, for whole warps",
           id, threads);
    b.give_up();
}

void block_barrier(const where &at)
{
    block &b = *running.block;
    if (b.arrive(operation::barrier, at))
        come(b, 0, b.thread_count(), true, at);
    b.wait_for_barrier();
}

void named_barrier(int id, int threads, const where &at)
{
    block &b = *running.block;
    check_operands(b, id, threads, at);
    if (b.arrive(operation::barrier, at))
        come(b, id, threads, true, at);
    b.wait_for_barrier();
}

void named_barrier_arrive(int id, int threads, const where &at)
{
    block &b = *running.block;
    check_operands(b, id, threads, at);
    if (b.arrive(operation::barrier_arrive, at))
        come(b, id, threads, false, at);
    else
        b.wait_for_warp();
}

} // namespace emulation
