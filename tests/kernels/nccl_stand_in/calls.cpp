/* NCCL's functions, by the names and with the answers that its documentation gives them. */
#include <atomic>
#include <cstring>

#include "communicator.h"
#include "element.h"

using namespace stand_in;

/* What this thread has called since ncclGroupStart. */
struct group {
    int depth = 0;
    ncclResult_t error = ncclSuccess; /* the first */
    std::vector<std::unique_ptr<batch>> batches;
};

static thread_local group open_group;

static void count_communicator(bool made)
{
    tally &all = all_counters();
    std::lock_guard<std::mutex> guard(all.lock);
    made ? all.counters.communicators++ : all.counters.communicators--;
}

ncclResult_t ncclGetVersion(int *version)
{
    *version = 22809;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static std::atomic<uint64_t> count{ 0 };
    const uint64_t number = ++count;
    *id = {};
    std::memcpy(id->internal, &number, sizeof number);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess:
        return "no error";
    case ncclUnhandledCudaError:
        return "unhandled cuda error";
    case ncclSystemError:
        return "unhandled system error";
    case ncclInvalidArgument:
        return "invalid argument";
    case ncclInvalidUsage:
        return "invalid usage";
    case ncclRemoteError:
        return "remote process exited or there was a network error";
    case ncclInProgress:
        return "NCCL operation in progress";
    default:
        return "internal error";
    }
}

const char *ncclGetLastError(ncclComm_t)
{
    return "";
}

/* A blocking communicator is there when the call returns, as NCCL has it. */
static void await_ranks(communicator &comm)
{
    std::unique_lock<std::mutex> guard(comm.others->lock);
    comm.others->changed.wait(guard, [&] { return comm.others->complete(); });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    if (!comm || ranks < 1 || ranks > NCCL_STAND_IN_MAX_RANKS || rank < 0 || rank >= ranks)
        return ncclInvalidArgument;
    const std::shared_ptr<clique> others = clique_of(id, ranks);
    if (!others)
        return ncclInvalidArgument;
    const bool blocking = !config || config->blocking != 0;
    auto made = std::make_shared<communicator>(others, rank, blocking);
    {
        std::unique_lock<std::mutex> guard(others->lock);
        if (others->joined[size_t(rank)])
            return ncclInvalidUsage;
        others->joined[size_t(rank)] = true;
        others->changed.notify_all();
    }
    *comm = new ncclComm{ made };
    count_communicator(true);
    if (!blocking)
        return ncclInProgress;
    await_ranks(*made);
    return poll(*made);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    if (!comm || !error)
        return ncclInvalidArgument;
    *error = poll(*comm->comm);
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    if (!comm)
        return ncclInvalidArgument;
    communicator &mine = *comm->comm;
    std::unique_lock<std::mutex> guard(mine.others->lock);
    if (mine.state != state::ready || !mine.held.empty())
        return ncclInvalidUsage;
    mine.state = state::finalising;
    mine.others->finalised[size_t(mine.rank)] = true;
    mine.others->changed.notify_all();
    if (!mine.blocking)
        return ncclInProgress;
    mine.others->changed.wait(
        guard, [&] { return mine.finished == mine.called && mine.others->quiescent(); });
    return mine.error;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (!comm)
        return ncclInvalidArgument;
    abort(*comm->comm);
    delete comm;
    count_communicator(false);
    return ncclSuccess;
}

/* With operations under way NCCL's would wait, or worse; here they are cut off and it is told. */
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (!comm)
        return ncclInvalidArgument;
    bool idle;
    {
        std::unique_lock<std::mutex> guard(comm->comm->others->lock);
        idle = comm->comm->called == comm->comm->finished;
    }
    ncclCommAbort(comm);
    return idle ? ncclSuccess : ncclInvalidUsage;
}

ncclResult_t ncclGroupStart(void)
{
    open_group.depth++;
    return ncclSuccess;
}

/* The answer of several is the first failure, else whether any is in progress. */
static ncclResult_t worse(ncclResult_t one, ncclResult_t other)
{
    const bool settled = one != ncclSuccess && one != ncclInProgress;
    return settled || other == ncclSuccess ? one : other;
}

ncclResult_t ncclGroupEnd(void)
{
    if (open_group.depth == 0)
        return ncclInvalidUsage;
    if (--open_group.depth > 0)
        return ncclSuccess;
    group ended;
    std::swap(ended, open_group);
    if (ended.error != ncclSuccess)
        return ended.error;
    ncclResult_t result = ncclSuccess;
    for (std::unique_ptr<batch> &each : ended.batches)
        result = worse(result, submit(std::move(each)));
    return result;
}

/* The batch of the open group that the communicator's operations go into; NULL: two streams. */
static batch *batch_of(ncclComm_t comm, cudaStream_t stream)
{
    for (std::unique_ptr<batch> &each : open_group.batches)
        if (each->comm == comm->comm)
            return each->stream == stream ? each.get() : nullptr;
    auto made = std::make_unique<batch>();
    made->comm = comm->comm;
    made->stream = stream;
    open_group.batches.push_back(std::move(made));
    return open_group.batches.back().get();
}

static ncclResult_t add(ncclComm_t comm, cudaStream_t stream, const operation &called)
{
    if (!comm || element_bytes(called.type) == 0)
        return ncclInvalidArgument;
    const bool message = called.kind == kind::send || called.kind == kind::receive;
    if (message && (called.peer < 0 || called.peer >= comm->comm->others->ranks))
        return ncclInvalidArgument;
    batch *work = batch_of(comm, stream);
    if (!work)
        return ncclInvalidUsage;
    work->operations.push_back(called);
    return ncclSuccess;
}

/* Any operation by itself is a group of one. */
static ncclResult_t call(ncclComm_t comm, cudaStream_t stream, const operation &called)
{
    ncclGroupStart();
    const ncclResult_t result = add(comm, stream, called);
    open_group.error = worse(open_group.error, result);
    return worse(result, ncclGroupEnd());
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t send_count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    return call(comm, stream, { kind::all_gather, send, receive, send_count, type, 0, false });
}

ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t receive_count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream)
{
    if (op != ncclSum)
        return ncclInvalidArgument;
    return call(comm, stream,
                { kind::reduce_scatter, send, receive, receive_count, type, 0, false });
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return call(comm, stream, { kind::send, send, nullptr, count, type, peer, false });
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return call(comm, stream, { kind::receive, nullptr, receive, count, type, peer, false });
}
