#include "kernels/attention/problem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Positions and rows are int in the kernels, and so are packed rows, 64 to a row. */
enum { MAX_TOKENS = 1 << 24, MAX_GROUP = 64, MAX_BLOCKS = 1 << 16 };

static ballast_attention_status check_layout(const ballast_attention_layout *layout,
                                             ballast_attention_error *error)
{
    if (layout->size != sizeof *layout || layout->version != 1)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "layout: size %zu, version %u: begin with "
                               "BALLAST_ATTENTION_LAYOUT_INIT",
                               layout->size, layout->version);
    if (layout->type != BALLAST_ATTENTION_BF16 && layout->type != BALLAST_ATTENTION_F16)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "layout: type %d: expected BF16 or F16", (int)layout->type);
    if (layout->kv_heads == 0 || layout->heads == 0 || layout->heads % layout->kv_heads != 0)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "layout: %u query heads for %u KV heads: expected a multiple",
                               layout->heads, layout->kv_heads);
    if (layout->path < BALLAST_ATTENTION_PATH_AUTO || layout->path > BALLAST_ATTENTION_PATH_WGMMA)
        return attention_error(error, BALLAST_ATTENTION_INVALID, "layout: no path %d",
                               (int)layout->path);
    if (!isfinite(layout->scale) || layout->blocks > MAX_BLOCKS)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "layout: scale %g, %u blocks: expected a finite scale, at most %d "
                               "blocks",
                               (double)layout->scale, layout->blocks, MAX_BLOCKS);
    if (layout->head_dim != 64 && layout->head_dim != 128)
        return attention_error(error, BALLAST_ATTENTION_UNSUPPORTED,
                               "layout: head dimension %u: there are kernels for 64 and 128",
                               layout->head_dim);
    if (layout->heads / layout->kv_heads > MAX_GROUP)
        return attention_error(error, BALLAST_ATTENTION_UNSUPPORTED,
                               "layout: %u query heads for one KV head: at most %d share a tile",
                               layout->heads / layout->kv_heads, MAX_GROUP);
    return BALLAST_ATTENTION_OK;
}

static ballast_attention_status check_pieces(const ballast_attention_plan *plan,
                                             ballast_attention_error *error)
{
    if (plan->size != sizeof *plan || plan->version != 1)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "plan: size %zu, version %u: begin with BALLAST_ATTENTION_PLAN_INIT",
                               plan->size, plan->version);
    if (!plan->cu_seqlens || plan->cu_seqlens[0] != 0)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "plan: cu_seqlens is NULL or does not begin with 0");
    for (uint32_t piece = 0; piece < plan->piece_count; piece++)
        if (plan->cu_seqlens[piece + 1] < plan->cu_seqlens[piece])
            return attention_error(error, BALLAST_ATTENTION_INVALID,
                                   "plan: piece %u ends at token %u, before its start %u", piece,
                                   plan->cu_seqlens[piece + 1], plan->cu_seqlens[piece]);
    if (plan->cu_seqlens[plan->piece_count] > MAX_TOKENS || plan->padded_tokens > MAX_TOKENS)
        return attention_error(error, BALLAST_ATTENTION_UNSUPPORTED,
                               "plan: %u tokens, %u padded on the rank: at most %d",
                               plan->cu_seqlens[plan->piece_count], plan->padded_tokens,
                               MAX_TOKENS);
    return BALLAST_ATTENTION_OK;
}

static bool chunk_fits(const ballast_attention_plan *plan, const ballast_attention_chunk *chunk)
{
    if (chunk->piece >= plan->piece_count || chunk->length == 0)
        return false;
    uint32_t length = plan->cu_seqlens[chunk->piece + 1] - plan->cu_seqlens[chunk->piece];
    return chunk->start < length && chunk->length <= length - chunk->start;
}

static bool comes_after(const ballast_attention_chunk *chunk, const ballast_attention_chunk *before)
{
    if (chunk->piece != before->piece)
        return chunk->piece > before->piece;
    return chunk->start >= before->start + before->length;
}

/* Copies chunks that fit their pieces and come in order; *ret_tokens is their sum. */
static ballast_attention_status copy_chunks(const ballast_attention_plan *plan,
                                            const ballast_attention_chunk *chunks, uint32_t count,
                                            const char *what, struct tile_chunk **ret_copies,
                                            uint32_t *ret_tokens, ballast_attention_error *error)
{
    if (!chunks && count > 0)
        return attention_error(error, BALLAST_ATTENTION_INVALID, "plan: %s is NULL", what);
    struct tile_chunk *copies = calloc((size_t)count + 1, sizeof *copies);
    if (!copies)
        return attention_error(error, BALLAST_ATTENTION_NO_MEMORY, "no memory for %u %s", count,
                               what);
    uint32_t tokens = 0;
    for (uint32_t c = 0; c < count; c++) {
        const ballast_attention_chunk *chunk = &chunks[c];
        if (!chunk_fits(plan, chunk) || (c > 0 && !comes_after(chunk, chunk - 1))) {
            free(copies);
            return attention_error(error, BALLAST_ATTENTION_INVALID,
                                   "plan: %s[%u], piece %u, tokens %u and %u on, is not within a "
                                   "piece or not after the chunk before",
                                   what, c, chunk->piece, chunk->start, chunk->length);
        }
        copies[c] = (struct tile_chunk){ chunk->piece, chunk->start, chunk->length };
        tokens += chunk->length;
    }
    *ret_copies = copies;
    *ret_tokens = tokens;
    return BALLAST_ATTENTION_OK;
}

/* Rows times heads are counted in an int. */
static ballast_attention_status check_size(const ballast_attention_problem *problem,
                                           ballast_attention_error *error)
{
    if ((uint64_t)problem->padded_tokens * problem->layout.heads < INT32_MAX)
        return BALLAST_ATTENTION_OK;
    return attention_error(error, BALLAST_ATTENTION_UNSUPPORTED,
                           "plan: %u tokens of %u heads: their product must be below 2^31",
                           problem->padded_tokens, problem->layout.heads);
}

/* Lists the tiles of a plan whose chunks were copied. */
static ballast_attention_status list_tiles(const ballast_attention_plan *plan,
                                           const struct tile_chunk *chunks,
                                           const struct tile_chunk *key_chunks,
                                           ballast_attention_problem *problem,
                                           ballast_attention_error *error)
{
    uint32_t group = problem->layout.heads / problem->layout.kv_heads;
    struct tile_plan tiles = {
        .piece_starts = plan->cu_seqlens,
        .chunks = chunks,
        .chunk_count = plan->chunk_count,
        .key_chunks = plan->key_chunks ? key_chunks : NULL,
        .key_chunk_count = plan->key_chunk_count,
        .pieces = plan->piece_count,
        .padded_rows = problem->padded_tokens,
        .shape = { .tokens = QUERY_TILE_ROWS / group, .columns = QUERY_TILE_COLUMNS },
        .key_tile_keys = KEY_TILE_KEYS,
    };
    if (!tile_list_build(&tiles, &problem->tiles))
        return attention_error(error, BALLAST_ATTENTION_NO_MEMORY,
                               "no memory for the tiles of %u tokens", problem->padded_tokens);
    return BALLAST_ATTENTION_OK;
}

static ballast_attention_status fill(const ballast_attention_plan *plan,
                                     ballast_attention_problem *problem,
                                     ballast_attention_error *error)
{
    struct tile_chunk *chunks = NULL, *key_chunks = NULL;
    uint32_t tokens = 0, key_tokens = 0;
    ballast_attention_status status =
        copy_chunks(plan, plan->chunks, plan->chunk_count, "chunks", &chunks, &tokens, error);
    if (status == BALLAST_ATTENTION_OK)
        status = copy_chunks(plan, plan->key_chunks, plan->key_chunks ? plan->key_chunk_count : 0,
                             "key_chunks", &key_chunks, &key_tokens, error);
    if (status == BALLAST_ATTENTION_OK && plan->padded_tokens != 0 && plan->padded_tokens < tokens)
        status = attention_error(error, BALLAST_ATTENTION_INVALID,
                                 "plan: %u padded tokens, but the chunks have %u",
                                 plan->padded_tokens, tokens);
    if (status == BALLAST_ATTENTION_OK) {
        problem->padded_tokens = plan->padded_tokens ? plan->padded_tokens : tokens;
        status = check_size(problem, error);
    }
    if (status == BALLAST_ATTENTION_OK)
        status = list_tiles(plan, chunks, key_chunks, problem, error);
    free(chunks);
    free(key_chunks);
    return status;
}

ballast_attention_status ballast_attention_problem_new(const ballast_attention_layout *layout,
                                                       const ballast_attention_plan *plan,
                                                       ballast_attention_problem **ret_problem,
                                                       ballast_attention_error *error)
{
    ballast_attention_status status = check_layout(layout, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_pieces(plan, error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    ballast_attention_problem *problem = calloc(1, sizeof *problem);
    if (!problem)
        return attention_error(error, BALLAST_ATTENTION_NO_MEMORY, "no memory for a problem");
    problem->layout = *layout;
    if (layout->scale == 0.0F)
        problem->layout.scale = 1.0F / sqrtf((float)layout->head_dim);
    status = fill(plan, problem, error);
    if (status != BALLAST_ATTENTION_OK) {
        ballast_attention_problem_free(problem);
        return status;
    }
    *ret_problem = problem;
    return BALLAST_ATTENTION_OK;
}

void ballast_attention_problem_free(ballast_attention_problem *problem)
{
    if (!problem)
        return;
    tile_list_fini(&problem->tiles);
    free(problem);
}

void ballast_attention_get_facts(const ballast_attention_problem *problem,
                                 ballast_attention_facts *ret_facts)
{
    *ret_facts = (ballast_attention_facts){
        .local_tokens = problem->tiles.rows,
        .padded_tokens = problem->padded_tokens,
        .key_tokens = problem->tiles.key_rows,
        .query_tiles = problem->tiles.query_tile_count,
        .key_tiles = problem->tiles.key_tile_count,
        .pairs = problem->tiles.pairs,
        .tile_pairs = problem->tiles.tile_pairs,
    };
}
