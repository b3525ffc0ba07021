/* What the ledger does to an epoch: it leaves out steps, drops shards, chains itself in. */
#include "plan/epoch_state.h"

enum planner_result epoch_leave_out(struct epoch *epoch, struct error *err)
{
    struct plan_waiting waiting;
    enum planner_result result = epoch_pack_next(epoch, &waiting, err);
    if (result == PLANNER_STEP)
        epoch->next_step++;
    return result;
}

const struct packing *epoch_left_out(const struct epoch *epoch)
{
    return &epoch->packing;
}

void epoch_chain(struct epoch *epoch, const void *bytes, size_t count)
{
    epoch->digest = digest_chain(epoch->digest, bytes, count);
}

/* Nothing arrives after the step that it is served in: due dates only move away. */
int epoch_go_back(struct epoch *epoch, uint64_t step, struct error *err)
{
    size_t count = 0;
    int status = epoch_list_waiting(epoch, &count, err);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++)
        if (epoch->waiting[i].piece.arrived > step)
            epoch->waiting[i].piece.arrived = step;
    epoch->next_step = step;
    return epoch_put_waiting(epoch, epoch->waiting, count, err);
}

/* Pieces of the shard that wait go the way of its documents. */
static int drop_waiting(struct epoch *epoch, size_t source, size_t shard, struct error *err)
{
    size_t count = 0, kept = 0;
    int status = epoch_list_waiting(epoch, &count, err);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++) {
        const struct piece *piece = &epoch->waiting[i].piece;
        if (piece->source == source &&
            source_shard_number(&epoch->corpus->sources[source], piece->document) == shard) {
            epoch->dropped_pieces++;
            epoch->dropped_tokens += piece->length;
        } else {
            epoch->waiting[kept++] = epoch->waiting[i];
        }
    }
    return epoch_put_waiting(epoch, epoch->waiting, kept, err);
}

int epoch_drop_shard(struct epoch *epoch, size_t source, size_t shard, struct error *err)
{
    int status = epoch_without_shard(epoch, source, shard, err);
    if (!status && epoch->foresight.scout)
        foresight_seek(&epoch->foresight, stream_cursors(epoch->stream));
    return status ? status : drop_waiting(epoch, source, shard, err);
}

int epoch_without_shard(struct epoch *epoch, size_t source, size_t shard, struct error *err)
{
    int status = stream_drop_shard(epoch->stream, source, shard, err);
    if (!status && epoch->foresight.scout)
        status = stream_drop_shard(epoch->foresight.scout, source, shard, err);
    return status;
}

void epoch_with_all_shards(struct epoch *epoch)
{
    stream_keep_shards(epoch->stream);
    if (epoch->foresight.scout)
        stream_keep_shards(epoch->foresight.scout);
}
