/* Items of work for persistent blocks: the first by the block's number, the others by a counter. */
#ifndef BALLAST_ATTENTION_ITEMS_CUH
#define BALLAST_ATTENTION_ITEMS_CUH

#include "kernels/common/barrier.h"
#include "kernels/common/memory.h"

namespace attention
{

/*
 * Every thread of the block holds one and calls next() together. The counter is asked for the next
 * item when one begins, so that the answer is there when it ends. Which block gets an item changes
 * from run to run; what it computes does not.
 */
class item_source
{
  public:
    static constexpr int shared_bytes = 16;

    /* `shared` is memory of the block for current and next item. */
    GPU_DEVICE item_source(int *counter, int *shared) : counter_(counter), shared_(shared)
    {
        if (gpu::thread_index() == 0)
            gpu::shared_store(&shared_[1], gpu::block_index());
    }

    /* Also a barrier: all threads are done with shared memory of the item before. */
    GPU_DEVICE int next()
    {
        gpu::block_barrier();
        if (gpu::thread_index() == 0)
            gpu::shared_store(&shared_[0], gpu::shared_load(&shared_[1]));
        gpu::block_barrier();
        if (gpu::thread_index() == 0)
            gpu::shared_store(&shared_[1], gpu::block_count() + gpu::take_next(counter_));
        return current(shared_);
    }

    GPU_DEVICE static int current(const int *shared)
    {
        return gpu::shared_load(&shared[0]);
    }

  private:
    int *counter_;
    int *shared_;
};

} // namespace attention

#endif
