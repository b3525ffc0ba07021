#include "plan/plan_json.h"

#include "base/json_text.h"

/*
 * jansson's packer returns NULL when out of memory and takes NULL parts as failure of the whole, so
 * one check at the end, by json_text, is enough.
 */

static json_t *piece_json(const struct piece *piece, const struct config *config)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I}", "source", config->sources[piece->source].name,
                     "document", (json_int_t)piece->document, "offset", (json_int_t)piece->offset,
                     "length", (json_int_t)piece->length, "arrived", (json_int_t)piece->arrived);
}

static json_t *pieces_json(const struct step_plan *plan, const struct plan_microbatch *microbatch,
                           const struct config *config)
{
    json_t *array = json_array();
    for (uint32_t i = 0; array && i < microbatch->piece_count; i++)
        json_push(array, piece_json(&plan->pieces[microbatch->first_piece + i], config));
    return array;
}

static json_t *chunks_json(const struct chunk *chunks, uint32_t count)
{
    json_t *array = json_array();
    for (uint32_t i = 0; array && i < count; i++)
        json_push(array, json_pack("[I, I, I]", (json_int_t)chunks[i].piece,
                                   (json_int_t)chunks[i].start, (json_int_t)chunks[i].length));
    return array;
}

static json_t *ranks_json(const struct step_plan *plan, uint32_t index)
{
    const struct chunk *chunks = plan->chunks + plan->microbatches[index].first_chunk;
    json_t *array = json_array();
    for (uint32_t r = 0; array && r < plan->rank_count; r++) {
        const struct cp_rank *rank = step_plan_rank(plan, index, r);
        json_push(array, json_pack("{s:I, s:I, s:o}", "tokens", (json_int_t)rank->tokens,
                                   "attention", (json_int_t)rank->attention, "chunks",
                                   chunks_json(chunks + rank->first, rank->count)));
    }
    return array;
}

static json_t *microbatch_json(const struct step_plan *plan, uint32_t index,
                               const struct config *config)
{
    const struct plan_microbatch *microbatch = &plan->microbatches[index];
    uint32_t per_replica = config->parallel.microbatches;
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o}", "index", (json_int_t)index, "dp",
        (json_int_t)(index / per_replica), "slot", (json_int_t)(index % per_replica), "tokens",
        (json_int_t)microbatch->tokens, "loss_tokens", (json_int_t)microbatch->loss_tokens,
        "padded_tokens", (json_int_t)microbatch->padded_tokens, "workload",
        (json_int_t)microbatch->workload, "sharding", cp_strategy_name(microbatch->sharding),
        "pieces", pieces_json(plan, microbatch, config), "ranks", ranks_json(plan, index));
}

static json_t *microbatches_json(const struct step_plan *plan, const struct config *config)
{
    json_t *array = json_array();
    for (uint32_t m = 0; array && m < plan->microbatch_count; m++)
        json_push(array, microbatch_json(plan, m, config));
    return array;
}

int step_plan_json(const struct step_plan *plan, const struct config *config, char **ret_text,
                   struct error *err)
{
    char digest[DIGEST_TEXT_BYTES];
    const struct plan_waiting *waiting = &plan->waiting;
    json_t *object =
        json_pack("{s:I, s:s, s:I, s:I, s:f, s:o, s:{s:I, s:I, s:I}}", "step",
                  (json_int_t)plan->step, "digest", digest_text(plan->digest, digest), "tokens",
                  (json_int_t)plan->tokens, "loss_tokens", (json_int_t)plan->loss_tokens,
                  "imbalance", step_plan_imbalance(plan), "microbatches",
                  microbatches_json(plan, config), "waiting", "pieces", (json_int_t)waiting->pieces,
                  "tokens", (json_int_t)waiting->tokens, "oldest", (json_int_t)waiting->oldest);
    char *text = json_text(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text)
        return error_memory(err, "writing a plan as JSON");
    *ret_text = text;
    return 0;
}
