#include "corpus/mapping_guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* In a list that a handler may walk at any moment: nodes are used again, and never freed. */
struct mapping_guard {
    _Atomic(uintptr_t) begin; /* 0: guards nothing */
    atomic_size_t size;
    atomic_bool taken, broken;
    struct mapping_guard *next;
};

static _Atomic(struct mapping_guard *) guards;
static struct sigaction before; /* what SIGBUS did before */

static struct mapping_guard *find(uintptr_t address)
{
    struct mapping_guard *guard = atomic_load(&guards);
    for (; guard; guard = guard->next) {
        uintptr_t begin = atomic_load(&guard->begin);
        if (begin && address >= begin && address - begin < atomic_load(&guard->size))
            return guard;
    }
    return NULL;
}

/* Zeros that take no memory. Marked first: another thread may read them before we return. */
static bool replace(struct mapping_guard *guard)
{
    atomic_store(&guard->broken, true);
    void *begin = (void *)atomic_load(&guard->begin);
    return mmap(begin, atomic_load(&guard->size), PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == begin;
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
        return;
    }
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
        return;
    }
    /* The load is done again and faults again, or, where it was sent by kill, it is sent again. */
    signal(number, SIG_DFL);
    if (info->si_code <= 0)
        raise(number);
}

static void handle(int number, siginfo_t *info, void *context)
{
    struct mapping_guard *guard = info->si_code > 0 ? find((uintptr_t)info->si_addr) : NULL;
    if (!guard || !replace(guard))
        pass_on(number, info, context);
}

static bool install(void)
{
    static atomic_int state; /* 0 not yet, 1 somebody is at it, 2 done */
    int expected = 0;
    if (!atomic_compare_exchange_strong(&state, &expected, 1)) {
        while (atomic_load(&state) == 1)
            ;
        return atomic_load(&state) == 2;
    }
    struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART };
    bool done = sigaction(SIGBUS, NULL, &before) == 0 && sigaction(SIGBUS, &action, NULL) == 0;
    atomic_store(&state, done ? 2 : 0);
    return done;
}

/* One that guards nothing any more, or a new one; it is the caller's. */
static struct mapping_guard *take_guard(void)
{
    for (struct mapping_guard *guard = atomic_load(&guards); guard; guard = guard->next) {
        bool taken = false;
        if (atomic_compare_exchange_strong(&guard->taken, &taken, true))
            return guard;
    }
    struct mapping_guard *guard = calloc(1, sizeof *guard);
    if (!guard)
        return NULL;
    atomic_store(&guard->taken, true);
    guard->next = atomic_load(&guards);
    while (!atomic_compare_exchange_weak(&guards, &guard->next, guard))
        ;
    return guard;
}

struct mapping_guard *mapping_guard_add(const void *bytes, size_t size)
{
    if (!install())
        return NULL;
    struct mapping_guard *guard = take_guard();
    if (!guard)
        return NULL;
    atomic_store(&guard->broken, false);
    atomic_store(&guard->size, size);
    atomic_store(&guard->begin, (uintptr_t)bytes);
    return guard;
}

void mapping_guard_remove(struct mapping_guard *guard)
{
    if (!guard)
        return;
    atomic_store(&guard->begin, 0);
    atomic_store(&guard->taken, false);
}

bool mapping_guard_broken(const struct mapping_guard *guard)
{
    return atomic_load(&guard->broken);
}

void mapping_guard_break(struct mapping_guard *guard)
{
    atomic_store(&guard->broken, true);
}
