/* The asynchronous copies of one thread that are on their way, in groups, oldest first. */
#ifndef BALLAST_KERNELS_EMULATION_COPY_QUEUE_H
#define BALLAST_KERNELS_EMULATION_COPY_QUEUE_H

#include "kernels/emulation/where.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulation
{

struct pending_copy {
    uint8_t *to;
    const void *from; /* NULL: zeros */
    bool landed;      /* the bytes are there already, though nobody may rely on it */
    where at;
};

class copy_queue
{
  public:
    void clear()
    {
        copies.clear();
        ends.clear();
    }

    void add(const pending_copy &copy)
    {
        copies.push_back(copy);
    }

    void commit()
    {
        ends.push_back(copies.size());
    }

    bool empty() const
    {
        return copies.empty();
    }

    const where &oldest() const
    {
        return copies.front().at;
    }

    /* Takes the oldest groups until `keep` are left; `land` is called for each of their copies. */
    template <class F> void land(size_t keep, F land)
    {
        if (ends.size() <= keep)
            return;
        size_t groups = ends.size() - keep;
        size_t count = ends[groups - 1];
        for (size_t i = 0; i < count; i++)
            land(copies[i]);
        copies.erase(copies.begin(), copies.begin() + static_cast<ptrdiff_t>(count));
        ends.erase(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(groups));
        for (size_t &end : ends)
            end -= count;
    }

  private:
    std::vector<pending_copy> copies;
    std::vector<size_t> ends; /* of the groups, as counts of copies */
};

} // namespace emulation

#endif
