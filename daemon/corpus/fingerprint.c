#include "corpus/fingerprint.h"

#include <stdint.h>
#include <string.h>

#include "corpus/shard.h"

static struct digest chain_text(struct digest digest, const char *text)
{
    return digest_chain(digest, text, strlen(text));
}

static struct digest chain_count(struct digest digest, uint64_t count)
{
    return digest_chain(digest, &count, sizeof count);
}

static struct digest chain_source(struct digest digest, const struct source *source)
{
    digest = chain_text(digest, source->name);
    digest = chain_text(digest, shard_format_of(source->format)->name);
    digest = chain_count(digest, source->shard_count);
    for (size_t i = 0; i < source->shard_count; i++) {
        const struct shard *shard = &source->shards[i];
        digest = chain_text(digest, source_shard_name(source, i));
        digest = digest_chain(digest, shard->digest.bytes, DIGEST_BYTES);
    }
    for (size_t i = 0; i < source->left_out_count; i++) {
        digest = chain_text(digest, "left out");
        digest = chain_text(digest, shard_base_name(source->left_out[i].path));
    }
    return digest;
}

struct digest source_fingerprint(const struct source *source)
{
    return chain_source((struct digest){ 0 }, source);
}

struct digest corpus_fingerprint(const struct corpus *corpus)
{
    struct digest digest = chain_text((struct digest){ 0 }, "ballast corpus 1");
    digest = chain_count(digest, corpus->source_count);
    for (size_t i = 0; i < corpus->source_count; i++)
        digest = chain_source(digest, &corpus->sources[i]);
    return digest;
}
