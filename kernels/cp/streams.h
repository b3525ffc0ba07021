/* How the caller's stream and the exchange stream wait for one another, and rows go in pairs. */
#ifndef BALLAST_KERNELS_CP_STREAMS_H
#define BALLAST_KERNELS_CP_STREAMS_H

#include "kernels/cp/problem.h"

/* `waiting` goes on when `passing` has done all that was put on it so far. */
ballast_attention_status streams_wait(const struct run *run, cudaStream_t waiting,
                                      cudaStream_t passing, cudaEvent_t event);

/* The two halves of that, where other work comes in between. */
ballast_attention_status streams_mark(const struct run *run, cudaStream_t stream,
                                      cudaEvent_t event);
ballast_attention_status streams_await(const struct run *run, cudaStream_t stream,
                                       cudaEvent_t event);

/* This rank's rows of K and V of a call, from KV head `head` on, into rows of an exchange. */
ballast_attention_status streams_pack(const struct run *run, const void *const tensors[2],
                                      const int64_t strides[2], uint32_t head, size_t place,
                                      cudaStream_t stream);

/* Sums in rows of an exchange into gradients of K and V. */
struct gradients {
    void *tensors[2];
    int64_t strides[2];
    ballast_attention_type type;
};

ballast_attention_status streams_unpack(const struct run *run, size_t place, uint32_t head,
                                        const struct gradients *to, cudaStream_t stream);

#endif
