#include "plan/dropped_shards.h"

#include <inttypes.h>
#include <string.h>

int dropped_shard_find(const struct ledger_entry *entry, const struct corpus *corpus,
                       size_t *ret_source, struct error *err)
{
    size_t index = corpus_find_source(corpus, entry->source);
    if (index == corpus->source_count)
        return error_set(err, EX_DATAERR,
                         "a shard of the source %.80s is to be dropped, and there "
                         "is no such source",
                         entry->source);
    const struct source *source = &corpus->sources[index];
    if (entry->shard >= source->shard_count)
        return error_set(err, EX_DATAERR,
                         "the shard number %" PRIu32 " of source %s is to be dropped, and it has "
                         "%zu, counted from 0",
                         entry->shard, source->name, source->shard_count);
    const char *name = source_shard_name(source, entry->shard);
    if (strcmp(name, entry->shard_name) != 0)
        return error_set(err, EX_DATAERR,
                         "the shard number %" PRIu32
                         " of source %s is to be dropped as %.200s, and "
                         "its name is %.200s",
                         entry->shard, source->name, entry->shard_name, name);
    *ret_source = index;
    return 0;
}
