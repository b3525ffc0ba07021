#include "kernels/attention/path.h"

static const struct attention_path mma = {
    attention_forward_mma,
    attention_backward_keys_mma,
    attention_backward_queries_mma,
};

static const struct attention_path wgmma = {
    attention_forward_wgmma,
    attention_backward_keys_wgmma,
    attention_backward_queries_wgmma,
};

/* 80 for 8.0. */
static cudaError_t compute_capability(int *ret_capability)
{
    int device, major, minor;
    cudaError_t failed = cudaGetDevice(&device);
    if (failed == cudaSuccess)
        failed = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (failed == cudaSuccess)
        failed = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    if (failed == cudaSuccess)
        *ret_capability = major * 10 + minor;
    return failed;
}

ballast_attention_status attention_path_choose(const ballast_attention_layout *layout,
                                               const struct attention_path **ret_path,
                                               ballast_attention_error *error)
{
    enum { AMPERE = 80, HOPPER = 90 }; /* code for 9.0 runs on no other */
    int capability;
    cudaError_t failed = compute_capability(&capability);
    if (failed != cudaSuccess)
        return attention_error(error, BALLAST_ATTENTION_DEVICE, "no device: %s",
                               cudaGetErrorString(failed));
    bool wants_wgmma = layout->path == BALLAST_ATTENTION_PATH_WGMMA;
    if (capability < AMPERE || (wants_wgmma && capability != HOPPER))
        return attention_error(error, BALLAST_ATTENTION_UNSUPPORTED,
                               "the device has compute capability %d.%d: expected %s",
                               capability / 10, capability % 10,
                               wants_wgmma ? "9.0 for path WGMMA" : "8.0 or newer");
    bool may_wgmma = layout->path != BALLAST_ATTENTION_PATH_MMA && capability == HOPPER;
    *ret_path = may_wgmma ? &wgmma : &mma;
    return BALLAST_ATTENTION_OK;
}

static ballast_attention_status launch(const ballast_attention_problem *problem,
                                       attention_kernel *kernel,
                                       const struct attention_arguments *arguments,
                                       cudaStream_t stream, ballast_attention_error *error)
{
    const ballast_attention_layout *layout = &problem->layout;
    cudaError_t failed = kernel(layout->type, layout->head_dim, arguments, layout->blocks, stream);
    if (failed != cudaSuccess)
        return attention_error(error, BALLAST_ATTENTION_DEVICE, "start of a kernel: %s",
                               cudaGetErrorString(failed));
    return BALLAST_ATTENTION_OK;
}

ballast_attention_status attention_launch(const ballast_attention_problem *problem,
                                          attention_kernel *kernel, enum attention_counter counter,
                                          uint32_t tiles, struct attention_arguments *arguments,
                                          cudaStream_t stream, ballast_attention_error *error)
{
    arguments->items = (int)tiles * arguments->kv_heads;
    if (arguments->items == 0)
        return BALLAST_ATTENTION_OK;
    arguments->counter = workspace_counter(problem, counter, (uint32_t)arguments->first_kv_head);
    cudaError_t failed = cudaMemsetAsync(arguments->counter, 0, sizeof *arguments->counter, stream);
    if (failed != cudaSuccess)
        return attention_error(error, BALLAST_ATTENTION_DEVICE, "reset of a tile counter: %s",
                               cudaGetErrorString(failed));
    return launch(problem, kernel, arguments, stream, error);
}

ballast_attention_status attention_launch_row_facts(const ballast_attention_problem *problem,
                                                    struct attention_arguments *arguments,
                                                    cudaStream_t stream,
                                                    ballast_attention_error *error)
{
    arguments->items = arguments->rows * arguments->kv_heads * arguments->group;
    if (arguments->items == 0)
        return BALLAST_ATTENTION_OK;
    return launch(problem, attention_find_row_facts, arguments, stream, error);
}
