#include "base/digest.h"

#include <string.h>
#ifdef BALLAST_XXHASH_DISPATCH
#include <xxh_x86dispatch.h> /* stands in for xxhash.h: the widest vectors of this processor */
#else
#include <xxhash.h>
#endif

struct digest digest_chain(struct digest previous, const void *bytes, size_t count)
{
    /* The previous link is folded in as a second hash, so `bytes` is read once and never copied. */
    XXH128_canonical_t part, link;
    XXH128_canonicalFromHash(&part, XXH3_128bits(bytes, count));
    unsigned char joined[DIGEST_BYTES + sizeof part.digest];
    memcpy(joined, previous.bytes, DIGEST_BYTES);
    memcpy(joined + DIGEST_BYTES, part.digest, sizeof part.digest);
    XXH128_canonicalFromHash(&link, XXH3_128bits(joined, sizeof joined));
    struct digest result;
    memcpy(result.bytes, link.digest, DIGEST_BYTES);
    return result;
}

bool digest_equal(struct digest a, struct digest b)
{
    return memcmp(a.bytes, b.bytes, DIGEST_BYTES) == 0;
}

const char *digest_text(struct digest digest, char text[DIGEST_TEXT_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    for (int i = 0; i < DIGEST_BYTES; i++) {
        text[2 * i] = hex[digest.bytes[i] >> 4];
        text[2 * i + 1] = hex[digest.bytes[i] & 15];
    }
    text[2 * DIGEST_BYTES] = '\0';
    return text;
}
