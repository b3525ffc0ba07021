/* CUDA's runtime API; see include/cuda_runtime.h. */
#include <cuda_runtime.h>

#include "kernels/emulation/fault.h"
#include "kernels/emulation/memory.h"
#include "kernels/emulation/options.h"
#include "kernels/emulation/stream.h"
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>

using emulation::enqueue;

namespace
{

constexpr int emulated_devices = 64; /* so that each rank of a test may have one */
constexpr int emulated_version = 13000;
constexpr size_t emulated_memory_bytes = size_t{ 8 } << 30;

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

std::mutex streams_guard;
std::map<cudaStream_t, int> streams; /* and their devices */

/* Every call that reports ends here. */
cudaError_t answer(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last_error = error;
    return error;
}

cudaError_t device_error()
{
    return emulation_faults() != 0 ? cudaErrorLaunchFailure : cudaSuccess;
}

size_t shared_bytes_optin()
{
    return size_t{ emulation_get_options().capability_major >= 9 ? 227U : 163U } << 10;
}

} // namespace

cudaError_t cudaGetLastError()
{
    cudaError_t error = last_error != cudaSuccess ? last_error : device_error();
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError()
{
    return last_error != cudaSuccess ? last_error : device_error();
}

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "cudaSuccess";
    case cudaErrorInvalidValue:
        return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
        return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
        return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice:
        return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle:
        return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady:
        return "cudaErrorNotReady";
    case cudaErrorLaunchFailure:
        return "cudaErrorLaunchFailure";
    case cudaErrorNotSupported:
        return "cudaErrorNotSupported";
    case cudaErrorUnknown:
        break;
    }
    return "cudaErrorUnknown";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
        return "invalid resource handle";
    case cudaErrorNotReady:
        return "device not ready";
    case cudaErrorLaunchFailure:
        return "unspecified launch failure";
    case cudaErrorNotSupported:
        return "operation not supported";
    case cudaErrorUnknown:
        break;
    }
    return "unknown error";
}

cudaError_t cudaGetDeviceCount(int *ret_count)
{
    *ret_count = emulated_devices;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *ret_device)
{
    *ret_device = current_device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= emulated_devices)
        return answer(cudaErrorInvalidDevice);
    current_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *ret_properties, int device)
{
    if (device < 0 || device >= emulated_devices)
        return answer(cudaErrorInvalidDevice);
    emulation_options options = emulation_get_options();
    cudaDeviceProp properties{};
    std::snprintf(properties.name, sizeof properties.name, "emulated device %d.%d",
                  options.capability_major, options.capability_minor);
    properties.totalGlobalMem = emulated_memory_bytes;
    properties.sharedMemPerBlockOptin = shared_bytes_optin();
    properties.sharedMemPerMultiprocessor = shared_bytes_optin() + 1024;
    properties.major = options.capability_major;
    properties.minor = options.capability_minor;
    properties.multiProcessorCount = options.multiprocessors;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiProcessor = 2048;
    properties.l2CacheSize = 1 << 20;
    *ret_properties = properties;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *ret_value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess)
        return cudaErrorInvalidDevice;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        *ret_value = properties.maxThreadsPerBlock;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *ret_value = properties.multiProcessorCount;
        return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *ret_value = properties.maxThreadsPerMultiProcessor;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
        *ret_value = properties.major;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *ret_value = properties.minor;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *ret_value = static_cast<int>(properties.sharedMemPerMultiprocessor);
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *ret_value = static_cast<int>(properties.sharedMemPerBlockOptin);
        return cudaSuccess;
    }
    return answer(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceSynchronize()
{
    std::vector<cudaStream_t> mine;
    {
        std::lock_guard<std::mutex> lock(streams_guard);
        for (auto [stream, device] : streams)
            if (device == current_device)
                mine.push_back(stream);
    }
    for (cudaStream_t stream : mine)
        stream->wait_until_idle();
    return answer(device_error());
}

cudaError_t cudaRuntimeGetVersion(int *ret_version)
{
    *ret_version = emulated_version;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *ret_version)
{
    *ret_version = emulated_version;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **ret_pointer, size_t bytes)
{
    void *pointer = bytes != 0 ? emulation::allocate(bytes, true) : nullptr;
    if (bytes != 0 && pointer == nullptr)
        return answer(cudaErrorMemoryAllocation);
    *ret_pointer = pointer;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **ret_pointer, size_t bytes)
{
    void *pointer = bytes != 0 ? emulation::allocate(bytes, false) : nullptr;
    if (bytes != 0 && pointer == nullptr)
        return answer(cudaErrorMemoryAllocation);
    *ret_pointer = pointer;
    return cudaSuccess;
}

cudaError_t cudaFree(void *pointer)
{
    if (pointer == nullptr)
        return cudaSuccess;
    cudaDeviceSynchronize();
    return emulation::release(pointer) ? cudaSuccess : answer(cudaErrorInvalidValue);
}

cudaError_t cudaFreeHost(void *pointer)
{
    return cudaFree(pointer);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream)
{
    if (bytes == 0)
        return cudaSuccess;
    if (!emulation::is_valid_range(to, bytes) || !emulation::is_valid_range(from, bytes))
        return answer(cudaErrorInvalidValue);
    enqueue(stream, [=] {
        std::memcpy(to, from, bytes);
        emulation::note_copy(to, bytes);
    });
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return error != cudaSuccess ? error : answer(device_error());
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    if (bytes == 0)
        return cudaSuccess;
    if (!emulation::is_valid_range(to, bytes))
        return answer(cudaErrorInvalidValue);
    enqueue(stream, [=] {
        std::memset(to, value, bytes);
        emulation::note_copy(to, bytes);
    });
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
    *ret_free = emulated_memory_bytes;
    *ret_total = emulated_memory_bytes;
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user)
{
    enqueue(stream, [=] { function(user); });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned)
{
    auto *stream = new CUstream_st;
    std::lock_guard<std::mutex> lock(streams_guard);
    streams[stream] = current_device;
    *ret_stream = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *ret_stream)
{
    return cudaStreamCreateWithFlags(ret_stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret_stream, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(ret_stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    {
        std::lock_guard<std::mutex> lock(streams_guard);
        if (streams.erase(stream) == 0)
            return answer(cudaErrorInvalidResourceHandle);
    }
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (stream != nullptr && !stream->is_idle())
        return cudaErrorNotReady;
    return answer(device_error());
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream != nullptr)
        stream->wait_until_idle();
    return answer(device_error());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    std::shared_ptr<emulation::event_state> state = event->state;
    unsigned long ticket = state->last_ticket();
    enqueue(stream, [=] { state->wait_for(ticket); });
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned)
{
    *ret_event = new CUevent_st;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *ret_event)
{
    return cudaEventCreateWithFlags(ret_event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    std::shared_ptr<emulation::event_state> state = event->state;
    unsigned long ticket = state->take_ticket();
    enqueue(stream, [=] { state->punch(ticket); });
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (!event->state->is_punched())
        return cudaErrorNotReady;
    return answer(device_error());
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    event->state->wait_for(event->state->last_ticket());
    return answer(device_error());
}

cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t start, cudaEvent_t end)
{
    if (!start->state->is_punched() || !end->state->is_punched())
        return cudaErrorNotReady;
    *ret_ms = static_cast<float>(end->state->time_ms() - start->state->time_ms());
    return cudaSuccess;
}
