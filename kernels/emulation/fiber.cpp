#include "kernels/emulation/fiber.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef EMULATION_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EMULATION_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/*
 * The switch: swapcontext() asks the kernel for the signal mask each time, which would take
 * twenty times as long. Other machines than x86-64 make do with it.
 */
#if defined(__x86_64__) && !defined(EMULATION_UCONTEXT)
extern "C" void ballast_emulation_switch(void **save, void *to);
asm(R"(
    .text
    .globl ballast_emulation_switch
    .hidden ballast_emulation_switch
    .type ballast_emulation_switch, @function
ballast_emulation_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size ballast_emulation_switch, . - ballast_emulation_switch
)");

static void *new_stack(void *low, size_t bytes, void (*entry)())
{
    constexpr size_t saved_registers = 6;
    auto *top = reinterpret_cast<uintptr_t *>(static_cast<char *>(low) + bytes);
    *--top = 0; /* as a call leaves the stack: a return address below what is aligned to 16 */
    *--top = reinterpret_cast<uintptr_t>(entry);
    top -= saved_registers;
    std::memset(top, 0, saved_registers * sizeof *top);
    return top;
}

static void free_stack(void *)
{
}
#else
#include <ucontext.h>

static void *new_stack(void *low, size_t bytes, void (*entry)())
{
    auto *context = new ucontext_t;
    getcontext(context);
    context->uc_stack.ss_sp = low;
    context->uc_stack.ss_size = bytes;
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    return context;
}

static void free_stack(void *context)
{
    delete static_cast<ucontext_t *>(context);
}

static void ballast_emulation_switch(void **save, void *to)
{
    if (*save == nullptr)
        *save = new ucontext_t;
    swapcontext(static_cast<ucontext_t *>(*save), static_cast<ucontext_t *>(to));
}
#endif

namespace emulation
{

#ifdef EMULATION_ASAN
static void thread_stack(void **ret_low, size_t *ret_bytes)
{
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    pthread_attr_getstack(&attributes, ret_low, ret_bytes);
    pthread_attr_destroy(&attributes);
}
#endif

fiber::fiber()
{
#ifdef EMULATION_ASAN
    thread_stack(&low, &bytes);
#endif
#ifdef EMULATION_TSAN
    sanitizer = __tsan_get_current_fiber();
#endif
}

fiber::~fiber()
{
    free_stack(stack_pointer);
#ifdef EMULATION_TSAN
    if (begun > 0)
        __tsan_destroy_fiber(sanitizer);
#endif
}

void fiber::begin(void *new_low, size_t new_bytes, void (*entry)())
{
    free_stack(stack_pointer);
    low = new_low;
    bytes = new_bytes;
    stack_pointer = new_stack(low, bytes, entry);
#ifdef EMULATION_ASAN
    fake_stack = nullptr;
    __asan_unpoison_memory_region(low, bytes); /* of frames that were left without a return */
#endif
#ifdef EMULATION_TSAN
    /* A fiber that is left in the middle leaves frames in the sanitizer's: not for ever. */
    constexpr int uses = 256;
    if (begun++ % uses == 0) {
        if (begun > 1)
            __tsan_destroy_fiber(sanitizer);
        sanitizer = __tsan_create_fiber(0);
    }
#endif
}

void fiber::switch_to(fiber &to)
{
#ifdef EMULATION_ASAN
    __sanitizer_start_switch_fiber(&fake_stack, to.low, to.bytes);
#endif
#ifdef EMULATION_TSAN
    __tsan_switch_to_fiber(to.sanitizer, 0);
#endif
    ballast_emulation_switch(&stack_pointer, to.stack_pointer);
#ifdef EMULATION_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void fiber::entered()
{
#ifdef EMULATION_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

/* Kernels keep whole fragments in arrays, and sanitizers put room around each. */
size_t stacks::bytes()
{
#if defined(EMULATION_ASAN) || defined(EMULATION_TSAN)
    return size_t{ 256 } << 10;
#else
    return size_t{ 64 } << 10;
#endif
}

static size_t page_bytes()
{
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

stacks::stacks(int count) : mapped_bytes(static_cast<size_t>(count) * (bytes() + page_bytes()))
{
    void *at = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (at == MAP_FAILED)
        throw std::bad_alloc();
    mapping = static_cast<char *>(at);
    for (int index = 0; index < count; index++)
        mprotect(static_cast<char *>(low(index)) - page_bytes(), page_bytes(), PROT_NONE);
}

stacks::~stacks()
{
    munmap(mapping, mapped_bytes);
}

void *stacks::low(int index) const
{
    return mapping + static_cast<size_t>(index) * (bytes() + page_bytes()) + page_bytes();
}

} // namespace emulation
