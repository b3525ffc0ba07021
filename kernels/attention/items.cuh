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
    GPU_DEVICE item_source(int *counter, int *shared_slot)
        : counter_(counter), slot_(shared_slot), upcoming_(gpu::block_index())
    {
    }

    /* Also a barrier: all threads are done with shared memory of the item before. */
    GPU_DEVICE int next()
    {
        gpu::block_barrier();
        if (gpu::thread_index() == 0)
            gpu::shared_store(slot_, upcoming_);
        gpu::block_barrier();
        int item = gpu::shared_load(slot_);
        if (gpu::thread_index() == 0)
            upcoming_ = gpu::block_count() + gpu::take_next(counter_);
        return item;
    }

  private:
    int *counter_;
    int *slot_;
    int upcoming_; /* thread 0 knows */
};

} // namespace attention

#endif
