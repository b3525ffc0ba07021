/*
 * A block on the CPU: a fiber a thread, all in one host thread. The threads of a warp run one after
 * another up to the next thing that they do together; the last to come does it for all. Warps run
 * in a random order of the seed, each until all its threads wait.
 *
 * Thread: a block is run by one host thread at a time, and nobody else touches it meanwhile.
 */
#ifndef BALLAST_KERNELS_EMULATION_BLOCK_H
#define BALLAST_KERNELS_EMULATION_BLOCK_H

#include "kernels/emulation/bank.h"
#include "kernels/emulation/box_queue.h"
#include "kernels/emulation/clock.h"
#include "kernels/emulation/copy_queue.h"
#include "kernels/emulation/fiber.h"
#include "kernels/emulation/memory.h"
#include "kernels/emulation/options.h"
#include "kernels/emulation/phase_barrier.h"
#include "kernels/emulation/product_queue.h"
#include "kernels/emulation/shadow.h"
#include "kernels/emulation/thread.h"
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace emulation
{

constexpr int warp_threads = 32;
constexpr uint32_t all_lanes = ~uint32_t{ 0 };
constexpr int named_barriers = 16; /* 0 is that of the whole block */

/* What the threads of a warp come together for. */
enum class operation {
    none,
    shuffle,
    warp_sync,
    ldmatrix,
    mma,
    barrier,
    barrier_arrive,
    wgmma,
    wgmma_fence,
    wgmma_commit,
    wgmma_wait,
    set_registers,
};

const char *operation_name(operation op);

struct lane {
    fiber stack;
    bool ended = false;
    where waits_at; /* the mbarrier, if it does */
    copy_queue copies;
    bank_log accesses; /* of shared memory since the warp was last in step */
};

/* The operands that lanes leave for the last of them, and the results they find. */
struct warp_exchange {
    std::array<uint32_t, warp_threads> value, result;
    std::array<int, warp_threads> from;
    std::array<const uint8_t *, warp_threads> row;
    std::array<std::array<uint32_t, 4>, warp_threads> fragment;
    std::array<float *, warp_threads> registers;
    float a[16][16], b[16][16], c[16][16], d[16][16];
};

struct warp {
    uint32_t ready = 0;   /* lanes that can go on */
    uint32_t arrived = 0; /* lanes that came to the operation */
    operation op = operation::none;
    where at;            /* of the operation, as the first lane came to it */
    int waits_at = -1;   /* the named barrier that all lanes wait at */
    clock_vector knows;  /* what the warp is ordered after; its own entry is its clock */
    clock_vector fenced; /* what of that the asynchronous proxy is ordered after */
    product_queue products;
    int registers = 0; /* of a thread, if it was said */
    warp_exchange exchange;
};

struct named_barrier_state {
    int expected = 0; /* threads; 0 while nobody is there */
    int arrived = 0;
    uint32_t waiting = 0; /* warps */
    clock_vector knows, fenced;
};

struct block_shape {
    int index, count, threads;
    size_t shared_bytes;
};

class block
{
  public:
    block();
    ~block();
    block(const block &) = delete;
    block &operator=(const block &) = delete;

    /* Runs `kernel` on every thread. False if it had to be given up; why has been reported. */
    bool run(const block_shape &shape, const std::function<void()> &kernel,
             const emulation_options &options, const allocations *global);

    lane &this_lane()
    {
        return lanes[static_cast<size_t>(running.thread)];
    }
    warp &this_warp()
    {
        return warps[static_cast<size_t>(running.thread / warp_threads)];
    }

    /*
     * Of each lane of a warp, at something that all do together: true for the last to come, which
     * does it and then calls leave() or wait_for_warp(). The others call wait_for_warp() at once.
     */
    bool arrive(operation op, const where &at);
    void leave(warp &w);
    void wait_for_warp();

    /* The same at a barrier, for all lanes: goes on at once if that completed just now. */
    void wait_for_barrier();

    /* Stops the running thread until somebody calls wake() for it. */
    void wait_to_be_woken();
    void wake(int thread);

    /* Reports and gives the whole block up; does not return. */
    [[noreturn]] void give_up();

    /* The rest is for the instructions of this folder. */
    accessor as_lane();
    accessor as_warp();
    void release(const warp &w, clock_vector *ret_knows, clock_vector *ret_fenced);
    void acquire(warp &w, const clock_vector &knows, const clock_vector &fenced);
    void tick(warp &w);
    int index_of(const warp &w) const;
    int thread_count() const;
    unsigned below(unsigned count); /* by chance */

    std::vector<lane> lanes;
    std::vector<warp> warps;
    std::array<named_barrier_state, named_barriers> barriers;
    std::vector<phase_barrier> mbarriers;
    box_queue boxes;
    shadow shared_words;
    bank_counts banks;
    unsigned long long products = 0; /* of matrix instructions, see work.h */
    const allocations *global = nullptr;
    emulation_options options{};

  private:
    void begin(const block_shape &shape);
    void begin_warp(int index);
    warp *pick_warp();
    warp *pick_ready_warp();
    bool land_boxes(bool must);
    void pause();
    void report_stuck();
    void report_waiting(const warp &w) const;
    void report_at_mbarriers(const warp &w);
    void check_leftovers();
    void check_warpgroups();
    void check_registers();
    static void entry();

    stacks all_stacks;
    std::unique_ptr<uint8_t[], void (*)(void *)> shared{ nullptr, nullptr };
    size_t shared_capacity = 0;
    fiber *scheduler = nullptr;
    const std::function<void()> *kernel = nullptr;
    int threads = 0, ended = 0;
    bool given_up = false;
    std::minstd_rand dice;
};

} // namespace emulation

#endif
