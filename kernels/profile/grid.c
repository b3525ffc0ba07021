#include "kernels/profile/grid.h"

uint32_t profile_range_count(struct profile_range range)
{
    uint32_t count = 0;
    for (uint64_t length = range.first; length && length <= range.last; length *= 2)
        count++;
    return count;
}

uint32_t profile_range_at(struct profile_range range, uint32_t index)
{
    return range.first << index;
}

uint32_t profile_copies(const struct profile_bounds *bounds, uint64_t tiles, uint64_t bytes)
{
    uint64_t wanted = (uint64_t)bounds->waves * bounds->slots;
    uint64_t copies = (wanted + tiles - 1) / tiles;
    uint64_t most = bounds->bytes / bytes;
    copies = copies ? copies : 1;
    return (uint32_t)(copies < most ? copies : most);
}

double profile_waves(const struct profile_bounds *bounds, uint64_t tiles)
{
    return (double)tiles / bounds->slots;
}
