#include "kernels/emulation/grid.h"

#include "kernels/emulation/block.h"
#include "kernels/emulation/fault.h"
#include "kernels/emulation/work.h"
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

namespace emulation
{

/* Blocks with their stacks are dear to make: a launch leaves its own for the next one. */
static std::mutex guard;
static std::vector<std::unique_ptr<block>> spare;

static std::unique_ptr<block> take_block()
{
    std::lock_guard<std::mutex> lock(guard);
    if (spare.empty())
        return std::make_unique<block>();
    std::unique_ptr<block> taken = std::move(spare.back());
    spare.pop_back();
    return taken;
}

static void give_block(std::unique_ptr<block> given)
{
    std::lock_guard<std::mutex> lock(guard);
    spare.push_back(std::move(given));
}

static int host_threads(const emulation_options &options, int blocks)
{
    int wanted = options.host_threads != 0 ? options.host_threads
                                           : static_cast<int>(std::thread::hardware_concurrency());
    return std::clamp(wanted, 1, blocks);
}

bool run_grid(int blocks, int threads, size_t shared_bytes, const std::function<void()> &kernel)
{
    emulation_options options = emulation_get_options();
    allocations global = current_allocations();
    long faults_before = emulation_faults();
    std::atomic<int> next{ 0 };
    auto work = [&] {
        std::unique_ptr<block> mine = take_block();
        for (int index = next++; index < blocks; index = next++)
            mine->run({ index, blocks, threads, shared_bytes }, kernel, options, &global);
        mine->banks.publish();
        add_products(std::exchange(mine->products, 0));
        give_block(std::move(mine));
    };
    std::vector<std::thread> others;
    for (int number = 1; number < host_threads(options, blocks); number++)
        others.emplace_back(work);
    work();
    for (std::thread &other : others)
        other.join();
    return emulation_faults() == faults_before;
}

} // namespace emulation
