/*
 * A ring of buffers that one thread fills by tensor copies and consumer warps empty: each has an
 * mbarrier that says it is full and one that says it is empty.
 */
#ifndef BALLAST_ATTENTION_SM90_RING_CUH
#define BALLAST_ATTENTION_SM90_RING_CUH

#include "kernels/common/mbarrier.h"
#include "kernels/common/warp.h"

namespace attention::sm90
{

/* Both sides go round in step, each with a ring of its own over the same mbarriers. */
template <int Stages> class ring
{
  public:
    static constexpr int bytes = 2 * Stages * 8; /* of mbarriers */

    /* At so many bytes of the block's shared memory. */
    GPU_DEVICE explicit ring(int offset)
        : full_(reinterpret_cast<gpu::mbarrier *>(gpu::shared_memory() + offset)),
          empty_(full_ + Stages)
    {
    }

    /* By one thread of the block, once, before a fence_mbarrier_init. */
    GPU_DEVICE void init(int consumer_warps) const
    {
        for (int i = 0; i < Stages; i++) {
            gpu::mbarrier_init(full_ + i, 1);
            gpu::mbarrier_init(empty_ + i, consumer_warps);
        }
    }

    GPU_DEVICE int stage() const
    {
        return stage_;
    }

    /* Of the filling thread: waits for room; then start() or start_empty(), and next(). */
    GPU_DEVICE void wait_for_room() const
    {
        gpu::mbarrier_wait(empty_ + stage_, parity_ ^ 1);
    }

    /* So many bytes are to come; the mbarrier they arrive at. */
    GPU_DEVICE gpu::mbarrier *start(int bytes_to_come) const
    {
        gpu::mbarrier_arrive_expect(full_ + stage_, bytes_to_come);
        return full_ + stage_;
    }

    GPU_DEVICE void start_empty() const
    {
        gpu::mbarrier_arrive(full_ + stage_);
    }

    /* Of consumers: wait, and release() by whole warps when the buffer is done with. */
    GPU_DEVICE void wait() const
    {
        gpu::mbarrier_wait(full_ + stage_, parity_);
    }

    GPU_DEVICE void release()
    {
        gpu::warp_sync(); /* the other lanes, too, are done with it */
        if (gpu::lane_index() == 0)
            gpu::mbarrier_arrive(empty_ + stage_);
        next();
    }

    GPU_DEVICE void next()
    {
        if (++stage_ == Stages) {
            stage_ = 0;
            parity_ ^= 1;
        }
    }

  private:
    gpu::mbarrier *full_, *empty_;
    int stage_ = 0, parity_ = 0;
};

/* One buffer, and with it the item of work that it is for. */
class item_ring : public ring<1>
{
  public:
    static constexpr int bytes = ring<1>::bytes + 16;

    GPU_DEVICE explicit item_ring(int offset)
        : ring<1>(offset),
          item_(reinterpret_cast<int *>(gpu::shared_memory() + offset + ring<1>::bytes))
    {
    }

    /* Before start() or start_empty(). */
    GPU_DEVICE void put(int item) const
    {
        gpu::shared_store(item_, item);
    }

    /* Waits for it. */
    GPU_DEVICE int get() const
    {
        wait();
        return gpu::shared_load(item_);
    }

  private:
    int *item_;
};

} // namespace attention::sm90

#endif
