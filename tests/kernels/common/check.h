/*
 * A test runner for kernels: cases are functions, a check that fails is counted and told of with
 * its line. Works on both targets: on the emulation a case must also leave no fault.
 */
#ifndef BALLAST_TESTS_KERNELS_COMMON_CHECK_H
#define BALLAST_TESTS_KERNELS_COMMON_CHECK_H

#include <cstdio>
#include <cuda_runtime.h>
#include <vector>
#ifdef BALLAST_EMULATED
#include "kernels/emulation/bank.h"
#include "kernels/emulation/fault.h"
#endif

namespace check
{

struct test_case {
    const char *name;
    void (*run)();
};

inline int failures = 0;

inline void that(bool holds, const char *text, const char *file, int line)
{
    if (holds)
        return;
    failures++;
    std::printf("%s:%d: not so: %s\n", file, line, text);
}

#define CHECK(condition) check::that((condition), #condition, __FILE__, __LINE__)
#define CHECK_CUDA(call) check::that((call) == cudaSuccess, #call, __FILE__, __LINE__)

/* Device memory that goes with its scope. */
template <class T> class device_array
{
  public:
    explicit device_array(size_t length) : count(length)
    {
        CHECK_CUDA(cudaMalloc(&pointer, length * sizeof(T)));
    }
    explicit device_array(const std::vector<T> &values) : device_array(values.size())
    {
        CHECK_CUDA(cudaMemcpy(pointer, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~device_array()
    {
        cudaFree(pointer);
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;

    T *get() const
    {
        return pointer;
    }
    std::vector<T> values() const
    {
        std::vector<T> host(count);
        CHECK_CUDA(cudaMemcpy(host.data(), pointer, count * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }

  private:
    size_t count;
    T *pointer = nullptr;
};

/* Runs all cases; the exit status of the program. */
inline int run_all(const std::vector<test_case> &cases)
{
    for (const test_case &c : cases) {
        int before = failures;
#ifdef BALLAST_EMULATED
        emulation_clear_faults();
        emulation_clear_banks();
#endif
        c.run();
        CHECK_CUDA(cudaDeviceSynchronize());
#ifdef BALLAST_EMULATED
        if (emulation_faults() != 0)
            std::printf("%s", emulation_fault_text());
#endif
        std::printf("%s  %s\n", failures == before ? "ok  " : "FAIL", c.name);
    }
    return failures == 0 ? 0 : 1;
}

} // namespace check

#endif
