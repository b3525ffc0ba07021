/*
 * A ring of buffers that one thread fills by tensor copies and consumer warps empty: each has an
 * mbarrier that says it is full and one that says it is empty.
 */
#ifndef BALLAST_ATTENTION_SM90_RING_CUH
#define BALLAST_ATTENTION_SM90_RING_CUH

#include "kernels/common/mbarrier.h"

namespace attention
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

} // namespace attention

#endif
