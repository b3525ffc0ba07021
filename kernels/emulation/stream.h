/*
 * Streams and events. A stream is a queue with a thread of its own, which starts with the first
 * piece of work; events are tickets that a stream punches when it comes to them. The NULL stream
 * is the calling thread's own: what is given to it is done before the call returns, and it waits
 * for no other stream.
 *
 * Teardown: destroying a stream lets it finish what it has; an event outlives its uses in streams.
 */
#ifndef BALLAST_KERNELS_EMULATION_STREAM_H
#define BALLAST_KERNELS_EMULATION_STREAM_H

#include <condition_variable>
#include <cuda_runtime.h>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

struct CUstream_st {
    CUstream_st() = default;
    ~CUstream_st();
    CUstream_st(const CUstream_st &) = delete;
    CUstream_st &operator=(const CUstream_st &) = delete;

    void add(std::function<void()> work);
    bool is_idle();
    void wait_until_idle();

  private:
    void run();

    std::mutex guard;
    std::condition_variable changed;
    std::deque<std::function<void()>> queue;
    bool busy = false, closing = false;
    std::thread thread;
};

namespace emulation
{

/* What the uses of an event share. */
class event_state
{
  public:
    /* A record: whoever waits from now on waits for it. */
    unsigned long take_ticket();
    unsigned long last_ticket(); /* 0 if there was no record */

    void punch(unsigned long ticket);
    void wait_for(unsigned long ticket);
    bool is_punched(); /* as far as it was recorded */
    double time_ms();  /* of the last punch */

  private:
    std::mutex guard;
    std::condition_variable changed;
    unsigned long recorded = 0, punched = 0;
    double punched_ms = 0;
};

/* Does `work` after all that the stream has, at once for NULL. */
void enqueue(cudaStream_t stream, std::function<void()> work);

} // namespace emulation

struct CUevent_st {
    std::shared_ptr<emulation::event_state> state = std::make_shared<emulation::event_state>();
};

#endif
