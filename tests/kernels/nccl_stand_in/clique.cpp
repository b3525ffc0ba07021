#include "clique.h"

#include <algorithm>
#include <cstring>

#include "element.h"
#include "kernels/emulation/memory.h"

namespace stand_in
{

tally &all_counters()
{
    static tally counters;
    return counters;
}

static void count_collective(uint64_t bytes)
{
    tally &all = all_counters();
    std::lock_guard<std::mutex> guard(all.lock);
    all.counters.collectives++;
    all.counters.bytes += bytes;
}

static void count_message(uint64_t bytes)
{
    tally &all = all_counters();
    std::lock_guard<std::mutex> guard(all.lock);
    all.counters.messages++;
    all.counters.bytes += bytes;
}

clique::clique(int ranks_count)
    : ranks(ranks_count), joined(size_t(ranks_count)), finalised(size_t(ranks_count))
{
}

bool clique::complete() const
{
    return std::all_of(joined.begin(), joined.end(), [](bool in) { return in; });
}

bool clique::quiescent() const
{
    return std::all_of(finalised.begin(), finalised.end(), [](bool out) { return out; });
}

bool clique::post(int rank, uint64_t number, operation *mine)
{
    if (mine->kind == kind::all_gather || mine->kind == kind::reduce_scatter)
        return post_collective(rank, number, mine);
    post_message(rank, mine);
    return true;
}

bool clique::post_collective(int rank, uint64_t number, operation *mine)
{
    std::vector<operation *> &all = collectives[number];
    all.resize(size_t(ranks));
    all[size_t(rank)] = mine;
    for (const operation *other : all)
        if (other &&
            (other->kind != mine->kind || other->count != mine->count || other->type != mine->type))
            return false;
    if (std::count(all.begin(), all.end(), nullptr) > 0)
        return true;
    if (mine->kind == kind::all_gather)
        gather(all);
    else
        reduce_scatter(all);
    for (operation *each : all)
        each->done = true;
    collectives.erase(number);
    changed.notify_all();
    return true;
}

/* Between ranks. The emulation, which cannot see it, is told; it may say that this is not memory.
 */
static void copy(void *to, const void *from, size_t bytes)
{
    const bool readable = emulation_read(from, bytes);
    if (emulation_written(to, bytes) && readable)
        std::memmove(to, from, bytes);
}

void clique::gather(std::vector<operation *> &all)
{
    const size_t bytes = all[0]->count * element_bytes(all[0]->type);
    for (operation *to : all)
        for (size_t from = 0; from < all.size(); from++)
            copy(static_cast<char *>(to->receive) + from * bytes, all[from]->send, bytes);
    count_collective(uint64_t(ranks) * uint64_t(ranks - 1) * bytes);
}

/* Rank r's block starts at rank r + 1, goes round, and r adds its own last. */
void clique::reduce_scatter(std::vector<operation *> &all)
{
    const size_t count = all[0]->count, size = all.size();
    const size_t bytes = count * element_bytes(all[0]->type);
    std::vector<std::vector<float>> sums(size, std::vector<float>(count));
    for (const operation *each : all)
        if (!emulation_read(each->send, size * bytes))
            return;
    for (size_t rank = 0; rank < size; rank++)
        for (size_t i = 1; i <= size; i++)
            element_add(all[0]->type, all[(rank + i) % size]->send, rank * count, sums[rank]);
    for (size_t rank = 0; rank < size; rank++)
        if (emulation_written(all[rank]->receive, bytes))
            element_store(all[0]->type, sums[rank], all[rank]->receive);
    count_collective(uint64_t(ranks) * uint64_t(ranks - 1) * bytes);
}

void clique::post_message(int rank, operation *mine)
{
    const bool sending = mine->kind == kind::send;
    const pair key = sending ? pair(rank, mine->peer) : pair(mine->peer, rank);
    std::deque<operation *> &others = sending ? receives[key] : sends[key];
    if (others.empty()) {
        (sending ? sends : receives)[key].push_back(mine);
        return;
    }
    operation *other = others.front();
    others.pop_front();
    const operation *from = sending ? mine : other, *to = sending ? other : mine;
    if (from->count != to->count || from->type != to->type)
        return; /* both wait for ever, as their ranks deserve */
    const size_t bytes = from->count * element_bytes(from->type);
    copy(to->receive, from->send, bytes);
    count_message(bytes);
    mine->done = other->done = true;
    changed.notify_all();
}

void clique::withdraw(int rank, const operation *mine)
{
    for (auto &each : collectives)
        if (each.second[size_t(rank)] == mine)
            each.second[size_t(rank)] = nullptr;
    for (auto *line : { &sends, &receives })
        for (auto &each : *line)
            each.second.erase(std::remove(each.second.begin(), each.second.end(), mine),
                              each.second.end());
}

std::shared_ptr<clique> clique_of(const ncclUniqueId &id, int ranks)
{
    static std::mutex lock;
    static std::map<uint64_t, std::weak_ptr<clique>> cliques;
    uint64_t key;
    std::memcpy(&key, id.internal, sizeof key);
    std::lock_guard<std::mutex> guard(lock);
    std::shared_ptr<clique> found = cliques[key].lock();
    if (!found) {
        found = std::make_shared<clique>(ranks);
        cliques[key] = found;
    }
    return found->ranks == ranks ? found : nullptr;
}

} // namespace stand_in
