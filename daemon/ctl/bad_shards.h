/* What of a corpus is bad, and was passed over when it was opened: for whoever plans with it. */
#ifndef BALLAST_CTL_BAD_SHARDS_H
#define BALLAST_CTL_BAD_SHARDS_H

#include "corpus/corpus.h"
#include "ctl/progress.h"

/* A line on standard error for each such shard, up to 20; takes the progress away before. */
void bad_shards_tell(const struct corpus *corpus, struct progress *progress);

#endif
