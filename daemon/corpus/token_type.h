/* Tokens as shards store them, and as they leave: loops over arrays that need not be aligned. */
#ifndef BALLAST_CORPUS_TOKEN_TYPE_H
#define BALLAST_CORPUS_TOKEN_TYPE_H

#include <stddef.h>
#include <stdint.h>

enum token_type { TOKEN_U8, TOKEN_I8, TOKEN_U16, TOKEN_I16, TOKEN_I32, TOKEN_I64 };

/* 1, 2, 4 or 8. */
unsigned token_type_bytes(enum token_type type);

const char *token_type_name(enum token_type type);

/*
 * Ids below this are good, read as unsigned: the vocabulary (2^32 when it is 0), but never beyond
 * the sign of the type, so that one comparison refuses negative ids too.
 */
uint64_t token_limit(enum token_type type, uint32_t vocab_size);

/* One token, sign and all. */
int64_t token_value(enum token_type type, const void *token);

/* Index of the first of `count` tokens that is not below `limit`; `count` when all are. */
size_t tokens_find_bad(enum token_type type, const void *tokens, size_t count, uint64_t limit);

/* Writes `count` tokens, `out_bytes` (2 or 4) each; every one must fit. No overlap. */
void tokens_convert(enum token_type type, const void *tokens, size_t count, unsigned out_bytes,
                    void *out);

#endif
