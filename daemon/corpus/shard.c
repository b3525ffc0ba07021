#include "corpus/shard.h"

#include <stdlib.h>
#include <string.h>

const struct shard_format *shard_format_of(enum source_format format)
{
    return format == SOURCE_MEGATRON ? &megatron_format : &lengths_format;
}

const char *shard_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool shard_is_bad(int code)
{
    return code == EX_DATAERR || code == EX_NOINPUT || code == EX_IOERR;
}

int shard_open(const struct shard_format *format, const char *path, bool dropped,
               struct shard *ret_shard, struct error *err)
{
    struct shard shard = {
        .format = format, .path = strdup(path), .dropped = dropped, .stored.file.fd = -1
    };
    if (!shard.path)
        return error_memory(err, "opening a shard");
    int code = format->open(&shard, err);
    if (code) {
        shard_close(&shard);
        return code;
    }
    *ret_shard = shard;
    return 0;
}

int shard_refuse_change(const struct shard *shard, struct error *err)
{
    return error_set(err, EX_IOERR,
                     "shard %s: the index has been cut short, overwritten or become unreadable "
                     "since it was opened: put the shard back and start again; replace shards by "
                     "rename, never in place",
                     shard->path);
}

int shard_check(const struct shard *shard, struct error *err)
{
    if (!shard->format->intact || shard->format->intact(shard->index))
        return 0;
    return shard_refuse_change(shard, err);
}

void shard_close(struct shard *shard)
{
    shard->format->close(shard->index);
    token_file_close(&shard->stored);
    free(shard->path);
    *shard = (struct shard){ .format = shard->format, .stored.file.fd = -1 };
}
