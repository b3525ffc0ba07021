/*
 * Who knows what: vector clocks. An agent's accesses carry its own clock; another agent is ordered
 * after them once its vector has reached that clock, which happens where the two synchronise.
 */
#ifndef BALLAST_KERNELS_EMULATION_CLOCK_H
#define BALLAST_KERNELS_EMULATION_CLOCK_H

#include <algorithm>
#include <cstdint>

namespace emulation
{

/*
 * Warps are agents, for their threads run in step; so is what brings data to each mbarrier, so that
 * waiting at one says nothing of the copies of another.
 */
constexpr int max_warps = 32;
constexpr int max_mbarriers = 32;
constexpr int max_agents = max_warps + max_mbarriers;

struct clock_vector {
    uint32_t of[max_agents] = {};

    void join(const clock_vector &other)
    {
        for (int agent = 0; agent < max_agents; agent++)
            of[agent] = std::max(of[agent], other.of[agent]);
    }
};

/* An agent and its clock in one word, as the shadow of memory keeps it; 0 is nobody, never. */
using stamp = uint32_t;
constexpr int stamp_clock_bits = 26;
constexpr uint32_t clock_never = (uint32_t{ 1 } << stamp_clock_bits) - 1; /* ordered for nobody */

constexpr stamp make_stamp(int agent, uint32_t clock)
{
    return static_cast<uint32_t>(agent) << stamp_clock_bits | clock;
}

constexpr int stamp_agent(stamp s)
{
    return static_cast<int>(s >> stamp_clock_bits);
}

constexpr uint32_t stamp_clock(stamp s)
{
    return s & clock_never;
}

inline bool ordered(stamp s, const clock_vector &knows)
{
    return stamp_clock(s) <= knows.of[stamp_agent(s)];
}

} // namespace emulation

#endif
