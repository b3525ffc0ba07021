#include "wire/table.h"

#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tables are sent as they lie in memory");

uint64_t wire_checksum(const void *bytes, size_t count)
{
    return XXH3_64bits(bytes, count);
}
