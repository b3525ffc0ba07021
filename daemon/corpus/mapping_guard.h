/*
 * What becomes of a mapped file that is cut short, or cannot be read, under its mapping. The kernel
 * says so by SIGBUS in the middle of a load; the guard puts zeros in place of the whole mapping,
 * marks it, and lets the load go on. Who has read asks afterwards whether what was read counts.
 *
 * The handler belongs to the process, because SIGBUS does: it is installed with the first guard,
 * sees to faults inside guarded mappings alone, and leaves all others to whom they went before.
 */
#ifndef BALLAST_CORPUS_MAPPING_GUARD_H
#define BALLAST_CORPUS_MAPPING_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct mapping_guard; /* opaque */

/*
 * Guards [bytes, bytes + size), a mapping of its own, until mapping_guard_remove. NULL without
 * memory, or when the handler cannot be installed. Any thread.
 */
struct mapping_guard *mapping_guard_add(const void *bytes, size_t size);

/* Before the mapping is unmapped, and when nobody reads it. NULL is accepted. */
void mapping_guard_remove(struct mapping_guard *guard);

/* True once a page could not be read: whatever was read since then may have been zeros. */
bool mapping_guard_broken(const struct mapping_guard *guard);

/* For a reader that found contents which were not there when they were checked. Any thread. */
void mapping_guard_break(struct mapping_guard *guard);

#endif
