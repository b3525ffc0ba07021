/*
 * The device that is measured: its facts, memory for tensors, and the time of launches. One thread.
 * Functions that can fail return 0 or a sysexits code and fill `error`.
 */
#ifndef BALLAST_PROFILE_DEVICE_H
#define BALLAST_PROFILE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ballast/attention.h>

struct profile_device;

struct profile_device_facts {
    char name[256];
    uint32_t multiprocessors;
    uint64_t free_bytes; /* of device memory, when it was opened */
    bool emulated;       /* there is no GPU: its emulation runs on the CPU */
};

/* The calling thread's current device. EX_UNAVAILABLE when there is none. */
int profile_device_open(struct profile_device **ret_device, ballast_attention_error *error);
void profile_device_close(struct profile_device *device);

const struct profile_device_facts *profile_device_get_facts(const struct profile_device *device);

/* Two regions, that of inputs with random numbers of the tensors' type, that of results with none.
 */
enum profile_region { PROFILE_INPUTS, PROFILE_RESULTS, PROFILE_REGIONS };

/*
 * At least `bytes` of a region, aligned to 256. What was there before is lost when it must grow, as
 * is every pointer into it. Owned by the device.
 */
int profile_device_region(struct profile_device *device, enum profile_region region, size_t bytes,
                          void **ret_memory, ballast_attention_error *error);

/* Enqueues what is to be timed. */
typedef int profile_work(void *context, ballast_attention_stream stream,
                         ballast_attention_error *error);

/*
 * The median time of `repeats` >= 1 calls of `work`, in us, each between two events; others before
 * them warm up. Waits for them all.
 */
int profile_device_time(struct profile_device *device, uint32_t repeats, profile_work *work,
                        void *context, double *ret_us, ballast_attention_error *error);

#endif
