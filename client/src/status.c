#include "ballast/ballast.h"

#include "wire/status.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* The public numbers are the protocol's: a status travels from the wire to the caller as it is. */
#define STATUS(name, number, retryable, text)                                                      \
    _Static_assert((int)BALLAST_##name == (number), "ballast_status follows status.def");
#include "wire/status.def"
#undef STATUS

const char *ballast_status_text(ballast_status status)
{
    switch (status) {
    case BALLAST_INVALID:
        return "an argument is out of its documented range";
    case BALLAST_NO_MEMORY:
        return "out of memory";
    case BALLAST_CORRUPT:
        return "a reply failed its checks at every endpoint";
    case BALLAST_DIGEST:
        return "the data order differs from the digest that the trainer expects";
    case BALLAST_SYSTEM:
        return "ZeroMQ or the system refused";
    default:
        return wire_status_text((uint32_t)status);
    }
}

const char *ballast_version(void)
{
    return TEXT(BALLAST_VERSION_MAJOR) "." TEXT(BALLAST_VERSION_MINOR) "." TEXT(
        BALLAST_VERSION_PATCH);
}
