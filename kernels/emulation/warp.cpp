#include "kernels/emulation/warp.h"

#include "kernels/emulation/block.h"

namespace emulation
{

uint32_t exchange(uint32_t word, int from, const where &at)
{
    block &b = *running.block;
    warp &w = b.this_warp();
    auto lane = static_cast<size_t>(running.thread % warp_threads);
    w.exchange.value[lane] = word;
    w.exchange.from[lane] = from;
    if (b.arrive(operation::shuffle, at)) {
        for (size_t to = 0; to < warp_threads; to++)
            w.exchange.result[to] =
                w.exchange.value[static_cast<size_t>(w.exchange.from[to] % warp_threads)];
        b.leave(w);
    } else {
        b.wait_for_warp();
    }
    return w.exchange.result[lane];
}

void warp_sync(const where &at)
{
    block &b = *running.block;
    if (!b.arrive(operation::warp_sync, at)) {
        b.wait_for_warp();
        return;
    }
    warp &w = b.this_warp();
    b.tick(w);
    b.leave(w);
}

} // namespace emulation
