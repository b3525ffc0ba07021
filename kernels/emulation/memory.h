/* Global memory: what is allocated, and which of it somebody has written. Thread-safe. */
#ifndef BALLAST_KERNELS_EMULATION_MEMORY_H
#define BALLAST_KERNELS_EMULATION_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * For who reads or writes device memory by other means than kernels and cudaMemcpy: reports what
 * lies outside of every allocation, and reads of what nobody wrote, as faults; false then.
 */
bool emulation_read(const void *pointer, size_t bytes);
bool emulation_written(const void *pointer, size_t bytes);

/* Allocations that were not freed. */
size_t emulation_live_allocations(void);

#ifdef __cplusplus
}

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace emulation
{

struct allocation {
    uintptr_t start;
    size_t bytes;
    std::shared_ptr<uint8_t[]> memory;
    std::shared_ptr<uint8_t[]> written; /* a byte for each two of memory; NULL: host memory */

    bool is_written(const void *pointer, size_t bytes) const;
    void set_written(const void *pointer, size_t bytes) const;
};

/* The allocations as they were at one moment, kept alive, in order of address. */
class allocations
{
  public:
    explicit allocations(std::vector<allocation> sorted);

    /* The one that holds all these bytes, or NULL. */
    const allocation *find(const void *pointer, size_t bytes) const;

    /* "1024 bytes + 1028", where the address is from the start of the nearest one below. */
    std::string nearest(const void *pointer) const;

  private:
    const allocation *below(const void *pointer) const;
    std::vector<allocation> sorted;
};

allocations current_allocations();

/* NULL if there is no memory. Device memory is filled with NaN and counts as not written. */
void *allocate(size_t bytes, bool on_device);

/* False if nothing was allocated there. */
bool release(void *pointer);

/* Whether the bytes lie in one allocation, or in none at all and so are ordinary host memory. */
bool is_valid_range(const void *pointer, size_t bytes);

/* Of a valid range, device memory or not: it has been written. */
void note_copy(const void *to, size_t bytes);

} // namespace emulation
#endif

#endif
