#include "plan/where.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void where_fini(struct where *where)
{
    free(where->places);
    free(where->ranks);
    planner_state_fini(&where->state);
    *where = (struct where){ 0 };
}

int where_begin(struct where *where, const struct planner *planner, const struct corpus *corpus,
                const char *source, uint64_t document, uint64_t epoch, struct error *err)
{
    where->source = corpus_find_source(corpus, source);
    if (where->source == corpus->source_count)
        return error_set(err, EX_USAGE, "there is no source '%.80s' in this job", source);
    const struct source *found = &corpus->sources[where->source];
    if (document >= found->documents)
        return error_set(err, EX_USAGE,
                         "source %s has %" PRIu64
                         " documents, counted from 0: there is no %" PRIu64,
                         source, found->documents, document);
    if (found->epochs && epoch >= found->epochs)
        return error_set(err, EX_USAGE,
                         "source %s has %u epochs, counted from 0: there is no %" PRIu64, source,
                         found->epochs, epoch);
    where->document = document;
    where->epoch = epoch;
    where->tokens = source_document_tokens(found, document);
    where->position = planner_position(planner, where->source, epoch, document);
    return 0;
}

bool where_may_start(const struct where *where, const struct source_cursor *cursors)
{
    const struct source_cursor *cursor = &cursors[where->source];
    return cursor->epoch < where->epoch ||
           (cursor->epoch == where->epoch && cursor->position <= where->position);
}

/* ---- what is met ---- */

/* Pieces that came before the document began are those of an epoch before. */
static bool is_it(const struct where *where, const struct piece *piece)
{
    return where->begun && piece->arrived >= where->begun_step && piece->source == where->source &&
           piece->document == where->document;
}

static struct where_place *add_place(struct where *where, enum where_kind kind, uint64_t step,
                                     const struct piece *piece)
{
    if (!grow(where->places, &where->capacity, where->count + 1))
        return NULL;
    struct where_place *place = &where->places[where->count++];
    *place = (struct where_place){
        .kind = kind, .step = step, .offset = piece->offset, .length = piece->length
    };
    if (kind != WHERE_WAITING)
        where->met += piece->length;
    return place;
}

static bool rank_has(const struct step_plan *plan, uint32_t microbatch, uint32_t rank,
                     uint32_t piece)
{
    const struct cp_rank *share = step_plan_rank(plan, microbatch, rank);
    const struct chunk *chunks =
        plan->chunks + plan->microbatches[microbatch].first_chunk + share->first;
    for (uint32_t i = 0; i < share->count; i++)
        if (chunks[i].piece == piece)
            return true;
    return false;
}

static bool add_ranks(struct where *where, const struct step_plan *plan, uint32_t microbatch,
                      uint32_t piece, struct where_place *place)
{
    place->first_rank = (uint32_t)where->ranks_count;
    for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
        if (!rank_has(plan, microbatch, rank, piece))
            continue;
        if (!grow(where->ranks, &where->ranks_capacity, where->ranks_count + 1))
            return false;
        where->ranks[where->ranks_count++] = rank;
        place->rank_count++;
    }
    return true;
}

static int look_at_plan(struct where *where, const struct step_plan *plan,
                        const struct config *config, struct error *err)
{
    for (uint32_t m = 0; m < plan->microbatch_count; m++) {
        const struct plan_microbatch *batch = &plan->microbatches[m];
        for (uint32_t i = 0; i < batch->piece_count; i++) {
            const struct piece *piece = &plan->pieces[batch->first_piece + i];
            if (!is_it(where, piece))
                continue;
            struct where_place *place = add_place(where, WHERE_SERVED, plan->step, piece);
            if (!place || !add_ranks(where, plan, m, i, place))
                return error_memory(err, "searching");
            place->microbatch = m;
            place->dp = m / config->parallel.microbatches;
            place->slot = m % config->parallel.microbatches;
        }
    }
    return 0;
}

static void look_at_left_out(void *context, uint64_t step, const struct packing *packing)
{
    struct where *where = context;
    for (size_t i = 0; i < packing->piece_count && !where->failed; i++)
        if (is_it(where, &packing->pieces[i]) &&
            !add_place(where, WHERE_LEFT_OUT, step, &packing->pieces[i]))
            where->failed = EX_OSERR;
}

/* ---- the search ---- */

/* Tokens of the document that wait; with `add`, they become places. */
static int look_at_waiting(struct where *where, const struct planner *planner, bool add,
                           uint64_t *ret_tokens, struct error *err)
{
    uint64_t tokens = 0;
    int status = planner_save(planner, &where->state, err);
    for (size_t i = 0; i < where->state.waiting_count && !status; i++) {
        const struct piece *piece = &where->state.waiting[i].piece;
        if (!is_it(where, piece))
            continue;
        tokens += piece->length;
        if (add && !add_place(where, WHERE_WAITING, planner_next_step(planner), piece))
            status = error_memory(err, "searching");
    }
    *ret_tokens = tokens;
    return status;
}

/* Is the rest of the document still to come out of the stream? */
static bool being_cut(const struct where *where, const struct source_cursor *cursor)
{
    return cursor->offset != 0 && cursor->epoch == where->epoch &&
           cursor->position == where->position + 1;
}

static enum where_result judge(struct where *where, const struct planner *planner,
                               struct error *err)
{
    uint64_t waiting = 0;
    if (!where->begun)
        return WHERE_MORE;
    if (where->met == where->tokens)
        return WHERE_DONE;
    if (being_cut(where, &planner_cursors(planner)[where->source]))
        return WHERE_MORE;
    if (look_at_waiting(where, planner, false, &waiting, err))
        return WHERE_ERROR;
    return waiting ? WHERE_MORE : WHERE_DONE;
}

/* Whether the document begins in a step is known afterwards: until then it is taken to. */
enum where_result where_step(struct where *where, struct planner *planner, struct step_plan *plan,
                             struct error *err)
{
    bool begins = !where->begun;
    if (begins)
        where->begun_step = planner_next_step(planner);
    where->begun = true;
    planner_watch_left_out(planner, look_at_left_out, where);
    enum planner_result result = planner_step(planner, plan, err);
    planner_watch_left_out(planner, NULL, NULL);
    if (begins && where_may_start(where, planner_cursors(planner))) {
        where->begun = false;
        where->count = where->ranks_count = 0;
        where->met = 0;
    }
    if (result == PLANNER_ERROR)
        return WHERE_ERROR;
    if (where->failed)
        return error_memory(err, "searching"), WHERE_ERROR;
    if (result == PLANNER_END)
        return WHERE_DONE;
    const struct config *config = history_config(planner_history(planner), plan->step);
    return look_at_plan(where, plan, config, err) ? WHERE_ERROR : judge(where, planner, err);
}

int where_stop(struct where *where, const struct planner *planner, struct error *err)
{
    uint64_t tokens;
    return look_at_waiting(where, planner, true, &tokens, err);
}
