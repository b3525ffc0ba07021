/* The runtime subset: streams run by themselves, events order them, memory has bounds. */
#include "kernels/emulation/memory.h"
#include "tests/kernels/common/check.h"
#include <atomic>
#include <condition_variable>
#include <mutex>

namespace
{

/* A gate that work in a stream waits at until the test opens it. */
struct gate {
    std::mutex guard;
    std::condition_variable changed;
    bool open = false;

    void unlock()
    {
        std::lock_guard<std::mutex> lock(guard);
        open = true;
        changed.notify_all();
    }
    static void wait(void *self)
    {
        auto &g = *static_cast<gate *>(self);
        std::unique_lock<std::mutex> lock(g.guard);
        g.changed.wait(lock, [&g] { return g.open; });
    }
};

void a_stream_runs_in_order_and_by_itself()
{
    gate first;
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int *device, host = 0, seven = 7;
    CHECK_CUDA(cudaMalloc(&device, sizeof *device));
    CHECK_CUDA(cudaLaunchHostFunc(stream, gate::wait, &first));
    CHECK_CUDA(cudaMemcpyAsync(device, &seven, sizeof seven, cudaMemcpyHostToDevice, stream));
    CHECK_CUDA(cudaMemcpyAsync(&host, device, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
    first.unlock();
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaStreamQuery(stream));
    CHECK(host == 7);
    CHECK_CUDA(cudaStreamDestroy(stream));
    CHECK_CUDA(cudaFree(device));
}

void an_event_orders_two_streams()
{
    gate first;
    cudaStream_t one, other;
    cudaEvent_t event;
    CHECK_CUDA(cudaStreamCreate(&one));
    CHECK_CUDA(cudaStreamCreate(&other));
    CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK_CUDA(cudaStreamWaitEvent(other, event, 0)); /* never recorded: waits for nothing */
    CHECK_CUDA(cudaStreamSynchronize(other));

    std::atomic<int> step{ 0 };
    int seen = -1;
    struct both {
        std::atomic<int> *step;
        int *seen;
    } shared{ &step, &seen };
    CHECK_CUDA(cudaLaunchHostFunc(one, gate::wait, &first));
    CHECK_CUDA(cudaLaunchHostFunc(
        one, [](void *user) { static_cast<both *>(user)->step->store(1); }, &shared));
    CHECK_CUDA(cudaEventRecord(event, one));
    CHECK_CUDA(cudaStreamWaitEvent(other, event, 0));
    CHECK_CUDA(cudaLaunchHostFunc(
        other,
        [](void *user) {
            auto *b = static_cast<both *>(user);
            *b->seen = b->step->load();
        },
        &shared));
    CHECK(cudaEventQuery(event) == cudaErrorNotReady);
    CHECK(cudaStreamQuery(other) == cudaErrorNotReady);
    first.unlock();
    CHECK_CUDA(cudaEventSynchronize(event));
    CHECK_CUDA(cudaStreamSynchronize(other));
    CHECK(seen == 1);
    CHECK_CUDA(cudaEventDestroy(event));
    CHECK_CUDA(cudaStreamDestroy(one));
    CHECK_CUDA(cudaStreamDestroy(other));
}

void events_tell_time()
{
    cudaEvent_t start, end;
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&end));
    CHECK_CUDA(cudaEventRecord(start, nullptr));
    CHECK_CUDA(cudaEventRecord(end, nullptr));
    float ms = -1;
    CHECK_CUDA(cudaEventElapsedTime(&ms, start, end));
    CHECK(ms >= 0);
    CHECK_CUDA(cudaEventDestroy(start));
    CHECK_CUDA(cudaEventDestroy(end));
}

void memory_has_bounds()
{
    size_t before = emulation_live_allocations();
    char *device, host[64] = {};
    CHECK_CUDA(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemcpy(device + 1, host, sizeof host, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaSuccess);

    CHECK(!emulation_read(device, 1));
    CHECK(emulation_fault_count(EMULATION_UNINITIALISED) == 1);
    CHECK_CUDA(cudaMemset(device, 0, 32));
    CHECK(emulation_read(device, 32));
    CHECK(!emulation_read(device, 33));
    CHECK(!emulation_read(device + 40, 32));
    CHECK(emulation_fault_count(EMULATION_OUT_OF_BOUNDS) == 1);
    CHECK(cudaPeekAtLastError() == cudaErrorLaunchFailure);
    emulation_clear_faults();

    CHECK(cudaFree(device + 8) == cudaErrorInvalidValue);
    (void)cudaGetLastError();
    CHECK_CUDA(cudaFree(device));
    CHECK(cudaFree(device) == cudaErrorInvalidValue);
    (void)cudaGetLastError();
    CHECK(emulation_live_allocations() == before);
}

void the_device_says_what_it_is()
{
    int devices, major;
    cudaDeviceProp properties;
    CHECK_CUDA(cudaGetDeviceCount(&devices));
    CHECK(devices > 0);
    CHECK(cudaSetDevice(devices) == cudaErrorInvalidDevice);
    (void)cudaGetLastError();
    CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
    CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(major == properties.major && major == 9);
    CHECK(properties.multiProcessorCount > 0);
}

} // namespace

int main()
{
    return check::run_all({
        { "a stream runs in order and by itself", a_stream_runs_in_order_and_by_itself },
        { "an event orders two streams", an_event_orders_two_streams },
        { "events tell time", events_tell_time },
        { "memory has bounds", memory_has_bounds },
        { "the device says what it is", the_device_says_what_it_is },
    });
}
