#include "kernels/emulation/stream.h"

#include <chrono>

CUstream_st::~CUstream_st()
{
    {
        std::lock_guard<std::mutex> lock(guard);
        closing = true;
    }
    changed.notify_all();
    if (thread.joinable())
        thread.join();
}

void CUstream_st::add(std::function<void()> work)
{
    std::lock_guard<std::mutex> lock(guard);
    queue.push_back(std::move(work));
    if (!thread.joinable())
        thread = std::thread(&CUstream_st::run, this);
    changed.notify_all();
}

void CUstream_st::run()
{
    std::unique_lock<std::mutex> lock(guard);
    for (;;) {
        changed.wait(lock, [this] { return closing || !queue.empty(); });
        if (queue.empty())
            return;
        std::function<void()> work = std::move(queue.front());
        queue.pop_front();
        busy = true;
        lock.unlock();
        work();
        work = nullptr; /* what it holds goes before anyone learns that it is done */
        lock.lock();
        busy = false;
        changed.notify_all();
    }
}

bool CUstream_st::is_idle()
{
    std::lock_guard<std::mutex> lock(guard);
    return queue.empty() && !busy;
}

void CUstream_st::wait_until_idle()
{
    std::unique_lock<std::mutex> lock(guard);
    changed.wait(lock, [this] { return queue.empty() && !busy; });
}

namespace emulation
{

static double now_ms()
{
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(since).count();
}

unsigned long event_state::take_ticket()
{
    std::lock_guard<std::mutex> lock(guard);
    return ++recorded;
}

unsigned long event_state::last_ticket()
{
    std::lock_guard<std::mutex> lock(guard);
    return recorded;
}

void event_state::punch(unsigned long ticket)
{
    std::lock_guard<std::mutex> lock(guard);
    if (ticket <= punched)
        return;
    punched = ticket;
    punched_ms = now_ms();
    changed.notify_all();
}

void event_state::wait_for(unsigned long ticket)
{
    std::unique_lock<std::mutex> lock(guard);
    changed.wait(lock, [&] { return punched >= ticket; });
}

bool event_state::is_punched()
{
    std::lock_guard<std::mutex> lock(guard);
    return punched == recorded;
}

double event_state::time_ms()
{
    std::lock_guard<std::mutex> lock(guard);
    return punched_ms;
}

void enqueue(cudaStream_t stream, std::function<void()> work)
{
    if (stream == nullptr)
        work();
    else
        stream->add(std::move(work));
}

} // namespace emulation
