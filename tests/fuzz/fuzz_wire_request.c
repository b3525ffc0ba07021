/* What a daemon reads from anyone who can connect: request headers. */
#include "wire/limits.h"
#include "wire_roundtrip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wire_roundtrip(data, size, WIRE_MAX_REQUEST_BYTES);
    return 0;
}
