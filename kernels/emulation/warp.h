/* What a warp does together; see kernels/common/warp.h. */
#ifndef BALLAST_KERNELS_EMULATION_WARP_H
#define BALLAST_KERNELS_EMULATION_WARP_H

#include "kernels/emulation/where.h"
#include <cstdint>
#include <cstring>

namespace emulation
{

/* The word that lane `from` brought. */
uint32_t exchange(uint32_t word, int from, const where &at);

template <class T> T shuffle(T value, int from, const where &at)
{
    static_assert(sizeof(T) == sizeof(uint32_t));
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    word = exchange(word, from, at);
    std::memcpy(&value, &word, sizeof value);
    return value;
}

void warp_sync(const where &at);

} // namespace emulation

#endif
