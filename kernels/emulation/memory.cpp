#include "kernels/emulation/memory.h"

#include "kernels/emulation/fault.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace
{

constexpr size_t alignment = 256;
constexpr size_t gap_bytes = 256; /* after each allocation: what runs over its end finds nothing */
constexpr int poison = 0xff;

std::mutex guard;
std::map<uintptr_t, emulation::allocation> live;

const emulation::allocation *live_below(uintptr_t address)
{
    auto above = live.upper_bound(address);
    return above == live.begin() ? nullptr : &std::prev(above)->second;
}

} // namespace

namespace emulation
{

/* A byte for two: a kernel's threads set neighbours at once, which bits could not bear. */
static constexpr size_t unit = 2;

bool allocation::is_written(const void *pointer, size_t count) const
{
    if (written == nullptr)
        return true;
    size_t offset = reinterpret_cast<uintptr_t>(pointer) - start;
    for (size_t at = offset / unit; at * unit < offset + count; at++)
        if (__atomic_load_n(written.get() + at, __ATOMIC_RELAXED) == 0)
            return false;
    return true;
}

void allocation::set_written(const void *pointer, size_t count) const
{
    if (written == nullptr)
        return;
    size_t offset = reinterpret_cast<uintptr_t>(pointer) - start;
    for (size_t at = offset / unit; at * unit < offset + count; at++)
        __atomic_store_n(written.get() + at, uint8_t{ 1 }, __ATOMIC_RELAXED);
}

allocations::allocations(std::vector<allocation> in_order) : sorted(std::move(in_order))
{
}

const allocation *allocations::below(const void *pointer) const
{
    auto address = reinterpret_cast<uintptr_t>(pointer);
    auto above = std::upper_bound(sorted.begin(), sorted.end(), address,
                                  [](uintptr_t at, const allocation &a) { return at < a.start; });
    return above == sorted.begin() ? nullptr : &*std::prev(above);
}

const allocation *allocations::find(const void *pointer, size_t bytes) const
{
    const allocation *found = below(pointer);
    auto address = reinterpret_cast<uintptr_t>(pointer);
    bool inside = found != nullptr && address + bytes <= found->start + found->bytes;
    return inside ? found : nullptr;
}

std::string allocations::nearest(const void *pointer) const
{
    const allocation *found = below(pointer);
    if (found == nullptr)
        return "every allocation";
    return "an allocation of " + std::to_string(found->bytes) + " bytes, + " +
           std::to_string(reinterpret_cast<uintptr_t>(pointer) - found->start);
}

allocations current_allocations()
{
    std::lock_guard<std::mutex> lock(guard);
    std::vector<allocation> sorted;
    sorted.reserve(live.size());
    for (const auto &[start, entry] : live)
        sorted.push_back(entry);
    return allocations(std::move(sorted));
}

void *allocate(size_t bytes, bool on_device)
{
    size_t whole = (bytes + gap_bytes + alignment - 1) / alignment * alignment;
    auto *memory = static_cast<uint8_t *>(std::aligned_alloc(alignment, whole));
    if (memory == nullptr)
        return nullptr;
    allocation entry{ reinterpret_cast<uintptr_t>(memory), bytes, { memory, std::free }, nullptr };
    if (on_device) {
        std::memset(memory, poison, whole);
        entry.written = std::shared_ptr<uint8_t[]>(new uint8_t[(bytes + unit - 1) / unit]());
    }
    std::lock_guard<std::mutex> lock(guard);
    live[entry.start] = entry;
    return memory;
}

bool release(void *pointer)
{
    std::lock_guard<std::mutex> lock(guard);
    return live.erase(reinterpret_cast<uintptr_t>(pointer)) == 1;
}

bool is_valid_range(const void *pointer, size_t bytes)
{
    std::lock_guard<std::mutex> lock(guard);
    auto address = reinterpret_cast<uintptr_t>(pointer);
    const allocation *found = live_below(address);
    if (found == nullptr || address >= found->start + found->bytes + gap_bytes)
        return true;
    return address + bytes <= found->start + found->bytes;
}

void note_copy(const void *to, size_t bytes)
{
    std::lock_guard<std::mutex> lock(guard);
    const allocation *found = live_below(reinterpret_cast<uintptr_t>(to));
    if (found != nullptr && reinterpret_cast<uintptr_t>(to) < found->start + found->bytes)
        found->set_written(to, bytes);
}

} // namespace emulation

static const emulation::allocation *live_range(const void *pointer, size_t bytes)
{
    auto address = reinterpret_cast<uintptr_t>(pointer);
    const emulation::allocation *found = live_below(address);
    if (found != nullptr && address + bytes <= found->start + found->bytes)
        return found;
    emulation::report(EMULATION_OUT_OF_BOUNDS, emulation::where(),
                      "host code uses %zu bytes at %p, which are not device memory", bytes,
                      pointer);
    return nullptr;
}

bool emulation_read(const void *pointer, size_t bytes)
{
    std::lock_guard<std::mutex> lock(guard);
    const emulation::allocation *found = live_range(pointer, bytes);
    if (found != nullptr && !found->is_written(pointer, bytes)) {
        emulation::report(EMULATION_UNINITIALISED, emulation::where(),
                          "host code reads %zu bytes of device memory that nobody wrote", bytes);
        return false;
    }
    return found != nullptr;
}

bool emulation_written(const void *pointer, size_t bytes)
{
    std::lock_guard<std::mutex> lock(guard);
    const emulation::allocation *found = live_range(pointer, bytes);
    if (found != nullptr)
        found->set_written(pointer, bytes);
    return found != nullptr;
}

size_t emulation_live_allocations()
{
    std::lock_guard<std::mutex> lock(guard);
    return live.size();
}
