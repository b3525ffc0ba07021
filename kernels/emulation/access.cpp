#include "kernels/emulation/access.h"

#include "kernels/emulation/block.h"
#include "kernels/emulation/fault.h"
#include <algorithm>

namespace emulation
{

/* A struct is loaded word by word if its size is not a power of two. */
static bool aligned(const void *pointer, size_t bytes, const where &at)
{
    size_t needed = std::min(bytes & (~bytes + 1), size_t{ 16 });
    if (reinterpret_cast<uintptr_t>(pointer) % needed == 0)
        return true;
    report(EMULATION_MISALIGNED, at, "an access of %zu bytes is not aligned to %zu", bytes, needed);
    return false;
}

bool inside_shared(const void *pointer, size_t bytes, const where &at)
{
    auto start = reinterpret_cast<uintptr_t>(running.shared);
    auto address = reinterpret_cast<uintptr_t>(pointer);
    if (address >= start && address + bytes <= start + running.shared_bytes)
        return aligned(pointer, bytes, at);
    report(EMULATION_OUT_OF_BOUNDS, at, "%zu bytes at shared memory + %td, of which there are %zu",
           bytes, static_cast<ptrdiff_t>(address - start), running.shared_bytes);
    return false;
}

bool note_shared_read(const void *pointer, size_t bytes, const where &at)
{
    if (!inside_shared(pointer, bytes, at))
        return false;
    block &b = *running.block;
    b.this_lane().accesses.push_back({ shared_offset(pointer), static_cast<uint32_t>(bytes), at });
    b.shared_words.read(shared_offset(pointer), bytes, b.as_lane(), at);
    return true;
}

bool note_shared_write(const void *pointer, size_t bytes, const where &at)
{
    if (!inside_shared(pointer, bytes, at))
        return false;
    block &b = *running.block;
    b.this_lane().accesses.push_back({ shared_offset(pointer), static_cast<uint32_t>(bytes), at });
    b.shared_words.write(shared_offset(pointer), bytes, b.as_lane(), at);
    return true;
}

static const allocation *find(const void *pointer, size_t bytes, const char *what, const where &at)
{
    const allocation *found = running.block->global->find(pointer, bytes);
    if (found == nullptr)
        report(EMULATION_OUT_OF_BOUNDS, at, "%s %zu bytes of global memory at %p, outside of %s",
               what, bytes, pointer, running.block->global->nearest(pointer).c_str());
    return found;
}

bool note_global_read(const void *pointer, size_t bytes, const where &at)
{
    const allocation *memory = find(pointer, bytes, "reads", at);
    if (memory == nullptr || !aligned(pointer, bytes, at))
        return false;
    if (!memory->is_written(pointer, bytes))
        report(EMULATION_UNINITIALISED, at, "reads global memory that nobody wrote: %s",
               running.block->global->nearest(pointer).c_str());
    return true;
}

bool note_global_write(const void *pointer, size_t bytes, const where &at)
{
    const allocation *memory = find(pointer, bytes, "writes", at);
    if (memory == nullptr || !aligned(pointer, bytes, at))
        return false;
    memory->set_written(pointer, bytes);
    return true;
}

int take_next(int *counter, const where &at)
{
    if (!note_global_read(counter, sizeof *counter, at))
        return 0;
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

} // namespace emulation
