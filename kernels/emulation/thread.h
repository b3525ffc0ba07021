/* Who the running fiber is: the part of the emulation that every wrapper reads. */
#ifndef BALLAST_KERNELS_EMULATION_THREAD_H
#define BALLAST_KERNELS_EMULATION_THREAD_H

#include "kernels/emulation/where.h"
#include <cstddef>
#include <cstdint>

namespace emulation
{

class block;

/* Of a host thread while it runs a block; plain data, for thread-local access without a call. */
struct running_thread {
    class block *block;
    int thread, block_index, block_count;
    uint8_t *shared; /* the block's shared memory, of shared_bytes bytes */
    size_t shared_bytes;
};

extern __thread running_thread running;

inline int thread_index()
{
    return running.thread;
}

inline int block_index()
{
    return running.block_index;
}

inline int block_count()
{
    return running.block_count;
}

inline uint8_t *shared_memory()
{
    return running.shared;
}

} // namespace emulation

#endif
