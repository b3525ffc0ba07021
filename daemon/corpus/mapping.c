#include "corpus/mapping.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int mapping_open(const struct shard_file *file, const char *path, struct mapping *ret_mapping,
                 struct error *err)
{
    size_t size = (size_t)file->bytes;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (bytes == MAP_FAILED)
        return error_set(err, EX_OSERR,
                         "%s: mapping %zu bytes: %s; every token shard holds one map: raise "
                         "vm.max_map_count or the address-space limit, or merge shards",
                         path, size, strerror(errno));
    struct mapping_guard *guard = mapping_guard_add(bytes, size);
    if (!guard) {
        munmap(bytes, size);
        return error_memory(err, "guarding a mapping");
    }
    madvise(bytes, size, MADV_SEQUENTIAL);
    *ret_mapping = (struct mapping){ .bytes = bytes, .size = size, .guard = guard };
    return 0;
}

bool mapping_intact(const struct mapping *mapping)
{
    return !mapping_guard_broken(mapping->guard);
}

void mapping_close(struct mapping *mapping)
{
    mapping_guard_remove(mapping->guard);
    if (mapping->bytes)
        munmap((void *)(uintptr_t)mapping->bytes, mapping->size);
    *mapping = (struct mapping){ 0 };
}

static void advise(const struct mapping *mapping, size_t begin, size_t end, int advice)
{
    /* Advice only: a kernel that declines costs memory, not correctness. */
    madvise((void *)(uintptr_t)(mapping->bytes + begin), end - begin, advice);
}

void mapping_release(const struct mapping *mapping, size_t begin, size_t end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    if (begin < end)
        advise(mapping, begin, end, MADV_DONTNEED);
}

void mapping_settle(const struct mapping *mapping)
{
    advise(mapping, 0, mapping->size, MADV_DONTNEED);
    advise(mapping, 0, mapping->size, MADV_RANDOM);
}

struct digest mapping_digest(const struct mapping *mapping, struct digest seed)
{
    struct digest digest = seed;
    for (size_t begin = 0; begin < mapping->size; begin += CONTENT_BLOCK_BYTES) {
        size_t left = mapping->size - begin;
        size_t count = left < CONTENT_BLOCK_BYTES ? left : CONTENT_BLOCK_BYTES;
        digest = digest_chain(digest, mapping->bytes + begin, count);
        mapping_release(mapping, begin, begin + count);
    }
    return digest;
}
