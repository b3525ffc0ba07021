/* What identifies a corpus, wherever it is mounted. */
#ifndef BALLAST_CORPUS_FINGERPRINT_H
#define BALLAST_CORPUS_FINGERPRINT_H

#include "base/digest.h"
#include "corpus/corpus.h"

/*
 * Of source names and formats, base names of shards in order, sizes and index contents; of no
 * directory, time, or descriptor, so that replicas with other mount points agree.
 */
struct digest corpus_fingerprint(const struct corpus *corpus);

#endif
