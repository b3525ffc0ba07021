#include "kernels/attention/path.h"

static const struct attention_path mma = {
    attention_forward_mma,
    attention_backward_keys_mma,
    attention_backward_queries_mma,
};

static cudaError_t compute_capability(int *ret_major)
{
    int device;
    cudaError_t failed = cudaGetDevice(&device);
    if (failed == cudaSuccess)
        failed = cudaDeviceGetAttribute(ret_major, cudaDevAttrComputeCapabilityMajor, device);
    return failed;
}

ballast_attention_status attention_path_choose(const ballast_attention_layout *layout,
                                               const struct attention_path **ret_path,
                                               ballast_attention_error *error)
{
    int major;
    cudaError_t failed = compute_capability(&major);
    if (failed != cudaSuccess)
        return attention_error(error, BALLAST_ATTENTION_DEVICE, "no device: %s",
                               cudaGetErrorString(failed));
    if (major < 8)
        return attention_error(error, BALLAST_ATTENTION_UNSUPPORTED,
                               "the device has compute capability %d: expected 8 or newer", major);
    if (layout->path == BALLAST_ATTENTION_PATH_WGMMA)
        return attention_error(error, BALLAST_ATTENTION_UNSUPPORTED,
                               "path WGMMA is not in this build");
    *ret_path = &mma;
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
