/* The 128-bit fingerprint of the data order (DESIGN section 3): XXH3-128 in canonical bytes. */
#ifndef BALLAST_BASE_DIGEST_H
#define BALLAST_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#define DIGEST_BYTES 16
#define DIGEST_TEXT_BYTES (2 * DIGEST_BYTES + 1)

struct digest {
    unsigned char bytes[DIGEST_BYTES];
};

/* hash(previous, bytes): the link that makes a chain. `bytes` may be NULL when count is 0. */
struct digest digest_chain(struct digest previous, const void *bytes, size_t count);

bool digest_equal(struct digest a, struct digest b);

/* Lower-case hexadecimal into `text`; returns `text`. */
const char *digest_text(struct digest digest, char text[DIGEST_TEXT_BYTES]);

#endif
