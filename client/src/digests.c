#include "digests.h"

#include <string.h>

bool digests_agree(struct digests *digests, uint64_t step, const uint8_t *digest)
{
    size_t place = step % DIGESTS_KEPT;
    if (digests->kept[place].known && digests->kept[place].step == step)
        return memcmp(digests->kept[place].digest, digest, BALLAST_DIGEST_BYTES) == 0;
    digests->kept[place].known = true;
    digests->kept[place].step = step;
    memcpy(digests->kept[place].digest, digest, BALLAST_DIGEST_BYTES);
    return true;
}
