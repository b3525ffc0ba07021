/* Checks of single accesses; see kernels/common/memory.h. */
#ifndef BALLAST_KERNELS_EMULATION_ACCESS_H
#define BALLAST_KERNELS_EMULATION_ACCESS_H

#include "kernels/emulation/thread.h"

namespace emulation
{

/* Bytes from the start of the block's shared memory. */
inline uint32_t shared_offset(const void *pointer)
{
    return static_cast<uint32_t>(static_cast<const uint8_t *>(pointer) - running.shared);
}

/* Where the 128-byte swizzle puts what would be at an offset. */
inline uint32_t swizzled_128(uint32_t offset)
{
    return offset ^ (offset >> 3 & 0x70);
}

/* False, with a fault reported, where the access must not be made. */
bool inside_shared(const void *pointer, size_t bytes, const where &at);
bool note_shared_read(const void *pointer, size_t bytes, const where &at);
bool note_shared_write(const void *pointer, size_t bytes, const where &at);
bool note_global_read(const void *pointer, size_t bytes, const where &at);
bool note_global_write(const void *pointer, size_t bytes, const where &at);

/* atomicAdd(counter, 1). */
int take_next(int *counter, const where &at);

} // namespace emulation

#endif
