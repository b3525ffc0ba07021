#include "kernels/profile/device.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#ifdef BALLAST_EMULATED
#include "kernels/emulation/work.h"
#endif
#include "kernels/profile/fail.h"
#include "kernels/profile/fit.h"

/* Runs before those that count: code is loaded and clocks rise in the first ones. */
#define WARM_UP_RUNS 3

#define MAX_REPEATS 1000

/* Random numbers are made once and copied as often as a region needs. */
#define PATTERN_BYTES ((size_t)1 << 20)

struct region {
    void *memory;
    size_t bytes;
};

struct profile_device {
    struct profile_device_facts facts;
    struct region regions[PROFILE_REGIONS];
    cudaStream_t stream;
    cudaEvent_t begin, end;
#ifdef BALLAST_EMULATED
    unsigned long long products; /* when the last measurement ended */
#endif
    double times[MAX_REPEATS];
};

static int cuda_failed(ballast_attention_error *error, const char *doing, cudaError_t code)
{
    return profile_fail(error, EX_UNAVAILABLE, "%s: %s", doing, cudaGetErrorString(code));
}

static int get_facts(struct profile_device_facts *facts, ballast_attention_error *error)
{
    int number = 0, count = 0;
    struct cudaDeviceProp properties;
    size_t free_bytes = 0, total_bytes = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count == 0)
        return profile_fail(error, EX_UNAVAILABLE, "found no GPU to measure: %s",
                            code == cudaSuccess ? "there is none" : cudaGetErrorString(code));
    code = cudaGetDevice(&number);
    if (code == cudaSuccess)
        code = cudaGetDeviceProperties(&properties, number);
    if (code == cudaSuccess)
        code = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (code != cudaSuccess)
        return cuda_failed(error, "asking for the facts of the GPU", code);
    snprintf(facts->name, sizeof facts->name, "%s", properties.name);
    facts->multiprocessors = (uint32_t)properties.multiProcessorCount;
    facts->free_bytes = free_bytes;
#ifdef BALLAST_EMULATED
    facts->emulated = true;
#endif
    return 0;
}

static int make_clock(struct profile_device *device, ballast_attention_error *error)
{
    cudaError_t code = cudaStreamCreate(&device->stream);
    if (code == cudaSuccess)
        code = cudaEventCreate(&device->begin);
    if (code == cudaSuccess)
        code = cudaEventCreate(&device->end);
    return code == cudaSuccess ? 0 : cuda_failed(error, "making a stream and events", code);
}

int profile_device_open(struct profile_device **ret_device, ballast_attention_error *error)
{
    struct profile_device *device = calloc(1, sizeof *device);
    if (!device)
        return profile_fail(error, EX_OSERR, "no memory for a device");
    int status = get_facts(&device->facts, error);
    if (!status)
        status = make_clock(device, error);
    if (status) {
        profile_device_close(device);
        return status;
    }
    *ret_device = device;
    return 0;
}

void profile_device_close(struct profile_device *device)
{
    if (!device)
        return;
    for (int i = 0; i < PROFILE_REGIONS; i++)
        cudaFree(device->regions[i].memory);
    if (device->begin)
        cudaEventDestroy(device->begin);
    if (device->end)
        cudaEventDestroy(device->end);
    if (device->stream)
        cudaStreamDestroy(device->stream);
    free(device);
}

const struct profile_device_facts *profile_device_get_facts(const struct profile_device *device)
{
    return &device->facts;
}

/*
 * Bits that are numbers of either sign in both types: from 1 to 2 read as fp16, from 1/128 to 2
 * read as bf16.
 */
static void make_pattern(uint16_t *pattern)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < PATTERN_BYTES / sizeof *pattern; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        pattern[i] = (uint16_t)(0x3c00u | (state >> 33 & 0x83ffu));
    }
}

/* The pattern from the host, then what is there already, twice as much each time. */
static int fill(const struct region *region, ballast_attention_error *error)
{
    uint16_t *pattern = malloc(PATTERN_BYTES);
    if (!pattern)
        return profile_fail(error, EX_OSERR, "no memory for random numbers");
    make_pattern(pattern);
    size_t done = region->bytes < PATTERN_BYTES ? region->bytes : PATTERN_BYTES;
    cudaError_t code = cudaMemcpy(region->memory, pattern, done, cudaMemcpyHostToDevice);
    free(pattern);
    while (code == cudaSuccess && done < region->bytes) {
        size_t more = region->bytes - done < done ? region->bytes - done : done;
        code = cudaMemcpy((char *)region->memory + done, region->memory, more,
                          cudaMemcpyDeviceToDevice);
        done += more;
    }
    return code == cudaSuccess ? 0 : cuda_failed(error, "filling device memory", code);
}

int profile_device_region(struct profile_device *device, enum profile_region region, size_t bytes,
                          void **ret_memory, ballast_attention_error *error)
{
    struct region *wanted = &device->regions[region];
    if (bytes > wanted->bytes) {
        cudaFree(wanted->memory);
        *wanted = (struct region){ 0 };
        cudaError_t code = cudaMalloc(&wanted->memory, bytes);
        if (code != cudaSuccess)
            return profile_fail(error, EX_UNAVAILABLE,
                                "no %zu MiB of device memory for tensors: %s; give --memory",
                                bytes >> 20, cudaGetErrorString(code));
        wanted->bytes = bytes;
        int status = region == PROFILE_INPUTS ? fill(wanted, error) : 0;
        if (status)
            return status;
    }
    *ret_memory = wanted->memory;
    return 0;
}

/*
 * What is between the two events, in us. The emulation is timed by what it computes, so that tests
 * find the same on every machine: a microsecond a matrix instruction, and one a launch.
 */
#ifdef BALLAST_EMULATED
static cudaError_t elapsed(struct profile_device *device, double *ret_us)
{
    unsigned long long products = emulation_products();
    *ret_us = 1 + (double)(products - device->products);
    device->products = products;
    return cudaSuccess;
}
#else
static cudaError_t elapsed(struct profile_device *device, double *ret_us)
{
    float ms = 0;
    cudaError_t code = cudaEventElapsedTime(&ms, device->begin, device->end);
    *ret_us = 1e3 * ms;
    return code;
}
#endif

static int time_once(struct profile_device *device, profile_work *work, void *context,
                     double *ret_us, ballast_attention_error *error)
{
    cudaError_t code = cudaEventRecord(device->begin, device->stream);
    if (code != cudaSuccess)
        return cuda_failed(error, "recording an event", code);
    int status = work(context, (ballast_attention_stream)device->stream, error);
    if (status)
        return status;
    code = cudaEventRecord(device->end, device->stream);
    if (code == cudaSuccess)
        code = cudaEventSynchronize(device->end);
    if (code == cudaSuccess)
        code = elapsed(device, ret_us);
    return code == cudaSuccess ? 0 : cuda_failed(error, "waiting for what is measured", code);
}

int profile_device_time(struct profile_device *device, uint32_t repeats, profile_work *work,
                        void *context, double *ret_us, ballast_attention_error *error)
{
    if (repeats < 1 || repeats > MAX_REPEATS)
        return profile_fail(error, EX_USAGE, "found %u repetitions, expected 1 to %d", repeats,
                            MAX_REPEATS);
    uint32_t warm_up = device->facts.emulated ? 0 : WARM_UP_RUNS;
    for (uint32_t run = 0; run < warm_up + repeats; run++) {
        uint32_t slot = run < warm_up ? 0 : run - warm_up;
        int status = time_once(device, work, context, &device->times[slot], error);
        if (status)
            return status;
    }
    *ret_us = profile_median(device->times, repeats);
    return 0;
}
