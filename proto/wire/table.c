#include "wire/table.h"

#ifdef BALLAST_XXHASH_DISPATCH
#include <xxh_x86dispatch.h> /* stands in for xxhash.h: the widest vectors of this processor */
#else
#include <xxhash.h>
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tables are sent as they lie in memory");

uint64_t wire_checksum(const void *bytes, size_t count)
{
    return XXH3_64bits(bytes, count);
}
