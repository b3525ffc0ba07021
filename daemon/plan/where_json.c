#include "base/json_text.h"
#include "plan/where.h"

static json_t *ranks_json(const struct where *where, const struct where_place *place)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < place->rank_count; i++)
        json_push(array, json_integer(where->ranks[place->first_rank + i]));
    return array;
}

static json_t *place_json(const struct where *where, const struct where_place *place)
{
    static const char *const kinds[] = { "served", "left out", "waiting" };
    json_t *object = json_pack("{s:s, s:I, s:I, s:I}", "state", kinds[place->kind], "step",
                               (json_int_t)place->step, "offset", (json_int_t)place->offset,
                               "length", (json_int_t)place->length);
    if (place->kind != WHERE_SERVED)
        return object;
    json_put(object, "microbatch", json_integer(place->microbatch));
    json_put(object, "dp", json_integer(place->dp));
    json_put(object, "slot", json_integer(place->slot));
    json_put(object, "ranks", ranks_json(where, place));
    return object;
}

/* The step from which on its shard is dropped, or null. */
static json_t *dropped_json(const struct where *where, const struct planner *planner,
                            const struct corpus *corpus)
{
    uint64_t step;
    const struct job_ledger *ledger = &planner_history(planner)->ledger;
    const struct source *source = &corpus->sources[where->source];
    size_t shard = source_shard_number(source, where->document);
    bool dropped = job_ledger_drops(ledger, source->name, shard, &step);
    return dropped ? json_integer((json_int_t)step) : json_null();
}

int where_json(const struct where *where, const struct planner *planner,
               const struct corpus *corpus, char **ret_text, struct error *err)
{
    json_t *places = json_array();
    for (size_t i = 0; i < where->count; i++)
        json_push(places, place_json(where, &where->places[i]));
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:b, s:o, s:I, s:o}", "source",
                  corpus->sources[where->source].name, "document", (json_int_t)where->document,
                  "epoch", (json_int_t)where->epoch, "tokens", (json_int_t)where->tokens,
                  "position", (json_int_t)where->position, "begun", (int)where->begun,
                  "dropped_from", dropped_json(where, planner, corpus), "searched_to",
                  (json_int_t)planner_next_step(planner), "places", places);
    char *text = json_text(object, JSON_COMPACT);
    if (!text)
        return error_memory(err, "writing places as JSON");
    *ret_text = text;
    return 0;
}
