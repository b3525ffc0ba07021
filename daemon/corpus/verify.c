#include <stdlib.h>

#include "corpus/corpus.h"
#include "corpus/shard.h"
#include "corpus/shard_paths.h"

static int verify_shard(const struct shard *shard, uint32_t vocab_size,
                        struct shard_facts *ret_facts, struct error *err)
{
    int code = 0;
    if (shard->format->has_tokens)
        code = token_file_check(&shard->stored, vocab_size, err);
    if (code)
        return code;
    *ret_facts = (struct shard_facts){ .documents = shard->documents,
                                       .empty_documents = shard->empty_documents,
                                       .tokens = shard->tokens };
    return 0;
}

int shard_verify(const char *path, uint32_t vocab_size, struct shard_facts *ret_facts,
                 struct error *err)
{
    char *index_path;
    int code = pair_index_path(path, &index_path, err);
    if (code)
        return code;
    struct shard shard;
    code = shard_open(index_path ? &megatron_format : &lengths_format,
                      index_path ? index_path : path, false, &shard, err);
    free(index_path);
    if (code)
        return code;
    code = verify_shard(&shard, vocab_size, ret_facts, err);
    shard_close(&shard);
    return code;
}
