/*
 * A tensor in device memory whose bytes are all ones before anything is written, with as much
 * before and behind it: what a kernel does not write stays NaN, what it writes beside is seen.
 */
#ifndef BALLAST_TESTS_GPU_DEVICE_TENSOR_H
#define BALLAST_TESTS_GPU_DEVICE_TENSOR_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

/* A test cannot go on without its device. */
inline void need(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
    std::exit(1);
}

class device_tensor
{
  public:
    explicit device_tensor(size_t bytes) : length(bytes)
    {
        need(cudaMalloc(&memory, length + 2 * guard), "cudaMalloc");
        poison();
    }
    ~device_tensor()
    {
        cudaFree(memory);
    }
    device_tensor(const device_tensor &) = delete;
    device_tensor &operator=(const device_tensor &) = delete;

    void poison()
    {
        need(cudaMemset(memory, poison_byte, length + 2 * guard), "cudaMemset");
    }
    void *get() const
    {
        return static_cast<char *>(memory) + guard;
    }
    template <class T> void set(const std::vector<T> &values)
    {
        need(cudaMemcpy(get(), values.data(), length, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    template <class T> std::vector<T> values() const
    {
        std::vector<T> host(length / sizeof(T));
        need(cudaMemcpy(host.data(), get(), length, cudaMemcpyDeviceToHost), "cudaMemcpy");
        return host;
    }

    /* Is what lies before and behind as it was? */
    bool guards_hold() const
    {
        std::vector<unsigned char> before(guard), behind(guard);
        need(cudaMemcpy(before.data(), memory, guard, cudaMemcpyDeviceToHost), "cudaMemcpy");
        need(cudaMemcpy(behind.data(), static_cast<char *>(memory) + guard + length, guard,
                        cudaMemcpyDeviceToHost),
             "cudaMemcpy");
        for (size_t i = 0; i < guard; i++)
            if (before[i] != poison_byte || behind[i] != poison_byte)
                return false;
        return true;
    }

  private:
    static constexpr size_t guard = 4096;
    static constexpr unsigned char poison_byte = 0xff;
    void *memory = nullptr;
    size_t length;
};

#endif
