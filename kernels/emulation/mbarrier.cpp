#include "kernels/emulation/mbarrier.h"

#include "kernels/emulation/access.h"
#include "kernels/emulation/block.h"
#include "kernels/emulation/fault.h"

namespace emulation
{

static constexpr size_t mbarrier_bytes = 8;

void mbarrier_init(void *pointer, int count, const where &at)
{
    block &b = *running.block;
    if (!inside_shared(pointer, mbarrier_bytes, at))
        b.give_up();
    if (b.mbarriers.size() == max_mbarriers || count < 1) {
        report(EMULATION_MISUSE, at,
               "mbarrier for %d arrivals; a block here has up to %d mbarriers", count,
               max_mbarriers);
        b.give_up();
    }
    phase_barrier made{};
    made.offset = shared_offset(pointer);
    made.count = count;
    made.pending = count;
    accessor who = b.as_lane();
    made.made_by = make_stamp(who.warp, who.knows->of[who.warp]);
    b.mbarriers.push_back(made);
}

int find_mbarrier(const void *pointer, bool by_copy, const where &at)
{
    block &b = *running.block;
    for (size_t index = 0; index < b.mbarriers.size(); index++) {
        const phase_barrier &m = b.mbarriers[index];
        if (m.offset != shared_offset(pointer))
            continue;
        warp &w = b.this_warp();
        if (!ordered(m.made_by, w.knows))
            report(EMULATION_RACE, at, "uses an mbarrier that warp %d initialised, unsynchronised",
                   stamp_agent(m.made_by));
        if (by_copy && (m.announced == 0 || !ordered(m.announced, w.knows)))
            report(EMULATION_PROXY, at, "a copy uses an mbarrier without fence_mbarrier_init");
        return static_cast<int>(index);
    }
    report(EMULATION_UNINITIALISED, at, "shared memory + %u is not an mbarrier",
           shared_offset(pointer));
    b.give_up();
}

static void end_phase(block &b, phase_barrier &m)
{
    int copies = max_warps + static_cast<int>(&m - b.mbarriers.data());
    m.gathered_knows.of[copies] = m.copy_clock();
    m.knows.join(m.gathered_knows);
    m.fenced.join(m.gathered_fenced);
    m.phase++;
    m.pending = m.count;
    for (int thread : m.waiting)
        b.wake(thread);
    m.waiting.clear();
}

void bytes_came(block &b, phase_barrier &m, long bytes)
{
    m.bytes -= bytes;
    if (m.pending == 0 && m.bytes == 0)
        end_phase(b, m);
}

void mbarrier_arrive(void *pointer, int bytes, const where &at)
{
    block &b = *running.block;
    phase_barrier &m = b.mbarriers[static_cast<size_t>(find_mbarrier(pointer, false, at))];
    warp &w = b.this_warp();
    if (m.pending == 0) {
        report(EMULATION_MISUSE, at, "more than %d arrivals in a phase of an mbarrier", m.count);
        b.give_up();
    }
    b.release(w, &m.gathered_knows, &m.gathered_fenced);
    b.tick(w);
    m.at = at;
    m.pending--;
    m.bytes += bytes;
    if (m.pending == 0 && m.bytes == 0)
        end_phase(b, m);
}

void mbarrier_wait(void *pointer, int parity, const where &at)
{
    block &b = *running.block;
    auto index = static_cast<size_t>(find_mbarrier(pointer, false, at));
    while (static_cast<int>(b.mbarriers[index].phase % 2) == parity) {
        b.mbarriers[index].waiting.push_back(running.thread);
        b.this_lane().waits_at = at;
        b.wait_to_be_woken();
    }
    const phase_barrier &m = b.mbarriers[index];
    b.acquire(b.this_warp(), m.knows, m.fenced);
}

/* Those that the running thread's warp made. */
static void announce_mbarriers(block &b)
{
    accessor who = b.as_lane();
    for (phase_barrier &m : b.mbarriers)
        if (m.announced == 0 && stamp_agent(m.made_by) == who.warp)
            m.announced = make_stamp(who.warp, who.knows->of[who.warp]);
}

void fence_mbarrier_init()
{
    announce_mbarriers(*running.block);
}

void fence_proxy_async()
{
    block &b = *running.block;
    warp &w = b.this_warp();
    announce_mbarriers(b);
    w.fenced.join(w.knows);
    b.tick(w); /* what it writes from now on is not fenced */
}

} // namespace emulation
