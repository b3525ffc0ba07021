/*
 * The ranks that hold the same unique id, and where their operations meet. Whoever comes last does
 * the work of all, under the clique's lock: everybody else waits inside the operation, so every
 * buffer stays, and an abort never comes in the middle of a copy.
 */
#ifndef BALLAST_TESTS_KERNELS_CLIQUE_H
#define BALLAST_TESTS_KERNELS_CLIQUE_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "nccl_stand_in.h"

namespace stand_in
{

enum class kind { all_gather, reduce_scatter, send, receive };

/* One rank's part in a collective, or one end of a message. */
struct operation {
    enum kind kind;
    const void *send;
    void *receive;
    size_t count;
    ncclDataType_t type;
    int peer;
    bool done;
};

/* What happened over all cliques; guarded by its own lock. */
struct tally {
    std::mutex lock;
    nccl_stand_in_counters counters = {};
};

tally &all_counters();

class clique
{
  public:
    clique(int ranks_count);

    /* Guards everything here and every communicator of the clique. */
    std::mutex lock;
    std::condition_variable changed;

    const int ranks;
    std::vector<bool> joined, finalised; /* by rank */

    bool complete() const;
    bool quiescent() const;

    /* The lock is held. `number` counts the rank's collectives. A collective that does not fit
     * the others' is never done; false then. */
    bool post(int rank, uint64_t number, operation *mine);

    /* Takes back what waits, so that nobody touches its memory. The lock is held. */
    void withdraw(int rank, const operation *mine);

  private:
    using pair = std::pair<int, int>; /* sender, receiver */

    bool post_collective(int rank, uint64_t number, operation *mine);
    void post_message(int rank, operation *mine);
    void gather(std::vector<operation *> &all);
    void reduce_scatter(std::vector<operation *> &all);

    std::map<uint64_t, std::vector<operation *>> collectives;
    std::map<pair, std::deque<operation *>> sends, receives;
};

/* The clique of an id, made by the first who asks. NULL when its ranks are counted differently. */
std::shared_ptr<clique> clique_of(const ncclUniqueId &id, int ranks);

} // namespace stand_in

#endif
