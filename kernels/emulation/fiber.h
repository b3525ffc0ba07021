/*
 * Fibers: a stack each, switched by hand, no scheduler. A fiber belongs to whoever runs it at the
 * moment; it may go on in another host thread than it stopped in. Known to the address and thread
 * sanitizers where one is on.
 */
#ifndef BALLAST_KERNELS_EMULATION_FIBER_H
#define BALLAST_KERNELS_EMULATION_FIBER_H

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATION_ASAN
#elif __has_feature(thread_sanitizer)
#define EMULATION_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define EMULATION_ASAN
#elif defined(__SANITIZE_THREAD__)
#define EMULATION_TSAN
#endif

namespace emulation
{

class fiber
{
  public:
    /* The host thread's own stack, to switch from. */
    fiber();
    ~fiber();
    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;

    /*
     * Makes this a fiber that begins in `entry` on the stack at `low`; what it was before is
     * forgotten, without unwinding. `entry` must not return: its last act is a switch.
     */
    void begin(void *low, size_t bytes, void (*entry)());

    /* Stops here and goes on where `to` stopped; returns when somebody switches back. */
    void switch_to(fiber &to);

    /* To be called first thing in `entry`. */
    static void entered();

  private:
    void *stack_pointer = nullptr;
    void *low = nullptr;
    size_t bytes = 0;
#ifdef EMULATION_ASAN
    void *fake_stack = nullptr;
#endif
#ifdef EMULATION_TSAN
    void *sanitizer = nullptr; /* its own notion of a fiber */
    int begun = 0;
#endif
};

/* Stacks in one mapping, a guard page below each. */
class stacks
{
  public:
    explicit stacks(int count);
    ~stacks();
    stacks(const stacks &) = delete;
    stacks &operator=(const stacks &) = delete;

    void *low(int index) const;
    static size_t bytes();

  private:
    char *mapping;
    size_t mapped_bytes;
};

} // namespace emulation

#endif
