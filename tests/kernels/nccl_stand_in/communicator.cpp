#include "communicator.h"

#include <algorithm>
#include <chrono>

namespace stand_in
{

static std::mutex faults_lock;
static nccl_stand_in_fault faults[NCCL_STAND_IN_MAX_RANKS];

static nccl_stand_in_fault fault_of(int rank)
{
    std::lock_guard<std::mutex> guard(faults_lock);
    return faults[rank];
}

static void count_waiting(bool begins)
{
    tally &all = all_counters();
    std::lock_guard<std::mutex> guard(all.lock);
    begins ? all.counters.waiting++ : all.counters.waiting--;
}

communicator::communicator(std::shared_ptr<clique> ranks, int rank_number, bool is_blocking)
    : others(std::move(ranks)), rank(rank_number), blocking(is_blocking), fault(fault_of(rank))
{
}

static bool all_met(const batch &work)
{
    return std::all_of(work.operations.begin(), work.operations.end(),
                       [](const operation &each) { return each.done; });
}

/* False where the rank is to meet nobody in this batch. */
static bool meets(communicator &comm, const batch &work)
{
    if (comm.fault.fails_at && work.number >= comm.fault.fails_at) {
        comm.error = comm.fault.error;
        comm.others->changed.notify_all();
        return false;
    }
    return !comm.fault.silent_from || work.number < comm.fault.silent_from;
}

static void post_all(communicator &comm, batch &work)
{
    for (operation &each : work.operations) {
        const bool collective = each.kind != kind::send && each.kind != kind::receive;
        const uint64_t number = collective ? comm.collectives++ : 0;
        if (!comm.others->post(comm.rank, number, &each))
            comm.error = ncclInvalidUsage;
    }
}

/* Runs on the stream: begins late if told to, meets the other ranks, waits for them. */
static void run(batch &work)
{
    communicator &comm = *work.comm;
    std::unique_lock<std::mutex> guard(comm.others->lock);
    const auto aborted = [&] { return comm.state == state::aborted; };
    comm.others->changed.wait_for(guard, std::chrono::milliseconds(comm.fault.late_ms), aborted);
    if (!aborted() && meets(comm, work))
        post_all(comm, work);
    count_waiting(true);
    comm.others->changed.wait(guard, [&] { return aborted() || all_met(work); });
    count_waiting(false);
    for (const operation &each : work.operations)
        comm.others->withdraw(comm.rank, &each);
    comm.finished++;
    comm.others->changed.notify_all();
}

static void run_on_stream(void *data)
{
    const std::unique_ptr<batch> work(static_cast<batch *>(data));
    run(*work);
}

/* The stream takes the batch over. */
static ncclResult_t enqueue(communicator &comm, batch *work)
{
    if (cudaLaunchHostFunc(work->stream, run_on_stream, work) == cudaSuccess)
        return ncclSuccess;
    delete work;
    comm.error = ncclUnhandledCudaError;
    return comm.error;
}

static ncclResult_t enqueue_held(communicator &comm)
{
    std::vector<batch *> held;
    held.swap(comm.held);
    for (batch *work : held)
        enqueue(comm, work);
    return comm.error;
}

/* Initialisation ends when all ranks are there, finalisation when all are done and say so. */
static bool state_is_reached(communicator &comm)
{
    if (comm.state == state::initialising && comm.others->complete()) {
        comm.state = state::ready;
        if (comm.fault.init_fails)
            comm.error = comm.fault.error;
    }
    if (comm.state == state::finalising)
        return comm.finished == comm.called && comm.others->quiescent();
    return comm.state != state::initialising;
}

ncclResult_t poll(communicator &comm)
{
    std::unique_lock<std::mutex> guard(comm.others->lock);
    if (comm.state == state::aborted)
        return ncclInvalidUsage;
    if (!state_is_reached(comm))
        return ncclInProgress;
    if (comm.error != ncclSuccess)
        return comm.error;
    if (comm.polls > 0) {
        comm.polls--;
        return ncclInProgress;
    }
    return enqueue_held(comm);
}

ncclResult_t submit(std::unique_ptr<batch> work)
{
    communicator &comm = *work->comm;
    std::unique_lock<std::mutex> guard(comm.others->lock);
    if (!state_is_reached(comm) || comm.state != state::ready || !comm.held.empty())
        return ncclInvalidUsage;
    if (comm.error != ncclSuccess)
        return comm.error;
    work->number = ++comm.called;
    if (comm.blocking || comm.fault.polls == 0)
        return enqueue(comm, work.release());
    comm.polls = comm.fault.polls - 1;
    comm.held.push_back(work.release());
    return ncclInProgress;
}

void abort(communicator &comm)
{
    std::unique_lock<std::mutex> guard(comm.others->lock);
    comm.state = state::aborted;
    for (batch *work : comm.held)
        delete work;
    comm.held.clear();
    comm.others->changed.notify_all();
}

} // namespace stand_in

void nccl_stand_in_set_fault(int rank, const struct nccl_stand_in_fault *fault)
{
    std::lock_guard<std::mutex> guard(stand_in::faults_lock);
    stand_in::faults[rank] = fault ? *fault : nccl_stand_in_fault{};
}

void nccl_stand_in_get_counters(struct nccl_stand_in_counters *ret_counters)
{
    stand_in::tally &all = stand_in::all_counters();
    std::lock_guard<std::mutex> guard(all.lock);
    *ret_counters = all.counters;
}
