#include <cublas_v2.h>
#include <sysexits.h>

#include "kernels/profile/blas.h"
#include "kernels/profile/fail.h"

struct task {
    cublasHandle_t handle;
    cudaDataType_t type;
    struct profile_product product;
    const void *left, *right;
    void *result;
};

bool profile_blas_available(void)
{
    return true;
}

/* cuBLAS is column-major: it is asked for the transposed product, of right and left. */
static int multiply(void *context, ballast_attention_stream stream, ballast_attention_error *error)
{
    const struct task *task = context;
    const struct profile_product *p = &task->product;
    const float one = 1, zero = 0;
    cublasStatus_t code = cublasSetStream(task->handle, stream);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = cublasGemmEx(task->handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)p->columns, (int)p->rows,
                            (int)p->depth, &one, task->right, task->type, (int)p->columns,
                            task->left, task->type, (int)p->depth, &zero, task->result, task->type,
                            (int)p->columns, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (code == CUBLAS_STATUS_SUCCESS)
        return 0;
    return profile_fail(error, EX_UNAVAILABLE, "cuBLAS: %s for [%llu, %llu] x [%llu, %llu]",
                        cublasGetStatusString(code), (unsigned long long)p->rows,
                        (unsigned long long)p->depth, (unsigned long long)p->depth,
                        (unsigned long long)p->columns);
}

static int place(struct profile_device *device, struct task *task, ballast_attention_error *error)
{
    const struct profile_product *p = &task->product;
    size_t left = p->rows * p->depth * sizeof(uint16_t);
    size_t right = p->depth * p->columns * sizeof(uint16_t);
    size_t aligned = (left + 255) / 256 * 256;
    void *inputs;
    int status = profile_device_region(device, PROFILE_INPUTS, aligned + right, &inputs, error);
    if (!status)
        status = profile_device_region(
            device, PROFILE_RESULTS, p->rows * p->columns * sizeof(uint16_t), &task->result, error);
    if (status)
        return status;
    task->left = inputs;
    task->right = (char *)inputs + aligned;
    return 0;
}

int profile_blas_time(struct profile_device *device, ballast_attention_type type,
                      const struct profile_product *product, uint32_t repeats, double *ret_us,
                      ballast_attention_error *error)
{
    struct task task = { .product = *product,
                         .type = type == BALLAST_ATTENTION_F16 ? CUDA_R_16F : CUDA_R_16BF };
    cublasStatus_t code = cublasCreate(&task.handle);
    if (code != CUBLAS_STATUS_SUCCESS)
        return profile_fail(error, EX_UNAVAILABLE, "cuBLAS: %s", cublasGetStatusString(code));
    int status = place(device, &task, error);
    if (!status)
        status = profile_device_time(device, repeats, multiply, &task, ret_us, error);
    cublasDestroy(task.handle);
    return status;
}
