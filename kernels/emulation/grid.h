/* Runs the blocks of a launch. */
#ifndef BALLAST_KERNELS_EMULATION_GRID_H
#define BALLAST_KERNELS_EMULATION_GRID_H

#include <cstddef>
#include <functional>

namespace emulation
{

/*
 * Runs `kernel` on every thread of every block, with as many host threads as the options say, and
 * returns when all have ended. False if there was a fault.
 */
bool run_grid(int blocks, int threads, size_t shared_bytes, const std::function<void()> &kernel);

} // namespace emulation

#endif
