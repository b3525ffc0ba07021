#include "kernels/emulation/block.h"

#include "kernels/emulation/fault.h"
#include <cstdlib>
#include <cstring>
#include <new>

namespace emulation
{

__thread running_thread running;

static constexpr int max_threads = max_warps * warp_threads;
static constexpr int poison = 0xff; /* NaN in every type of number */

const char *operation_name(operation op)
{
    switch (op) {
    case operation::shuffle:
        return "a shuffle";
    case operation::warp_sync:
        return "warp_sync";
    case operation::ldmatrix:
        return "ldmatrix";
    case operation::mma:
        return "mma";
    case operation::barrier:
        return "a barrier";
    case operation::barrier_arrive:
        return "an arrival at a barrier";
    case operation::wgmma:
        return "wgmma";
    case operation::wgmma_fence:
        return "warpgroup_fence";
    case operation::wgmma_commit:
        return "warpgroup_commit";
    case operation::wgmma_wait:
        return "warpgroup_wait";
    case operation::set_registers:
        return "a change of registers";
    case operation::none:
        break;
    }
    return "nothing";
}

block::block() : lanes(max_threads), warps(max_warps), all_stacks(max_threads)
{
}

block::~block() = default;

void block::begin(const block_shape &shape)
{
    if (shape.shared_bytes > shared_capacity) {
        shared_capacity = (shape.shared_bytes + 1023) / 1024 * 1024;
        shared = { static_cast<uint8_t *>(std::aligned_alloc(1024, shared_capacity)), std::free };
        if (shared == nullptr)
            throw std::bad_alloc();
    }
    if (shape.shared_bytes != 0)
        std::memset(shared.get(), poison, shape.shared_bytes);
    threads = shape.threads;
    ended = 0;
    given_up = false;
    dice.seed(options.seed * 7919U + static_cast<unsigned>(shape.index) + 1U);
    shared_words.begin(shape.shared_bytes, threads / warp_threads);
    barriers.fill(named_barrier_state{});
    mbarriers.clear();
    boxes.clear();
    for (int index = 0; index < threads / warp_threads; index++)
        begin_warp(index);
    for (int thread = 0; thread < threads; thread++) {
        lane &l = lanes[static_cast<size_t>(thread)];
        l.ended = false;
        l.copies.clear();
        l.accesses.clear();
        l.stack.begin(all_stacks.low(thread), stacks::bytes(), entry);
    }
    running = { this, 0, shape.index, shape.count, shared.get(), shape.shared_bytes };
}

void block::begin_warp(int index)
{
    warp &w = warps[static_cast<size_t>(index)];
    w.ready = all_lanes;
    w.arrived = 0;
    w.op = operation::none;
    w.waits_at = -1;
    w.knows = clock_vector{};
    w.knows.of[index] = 1;
    w.fenced = clock_vector{};
    w.products.clear();
    w.registers = 0;
}

bool block::run(const block_shape &shape, const std::function<void()> &what,
                const emulation_options &with, const allocations *known_global)
{
    kernel = &what;
    options = with;
    global = known_global;
    begin(shape);
    fiber here;
    scheduler = &here;
    for (warp *w = pick_warp(); w != nullptr && !given_up; w = pick_warp()) {
        running.thread = index_of(*w) * warp_threads + __builtin_ctz(w->ready);
        here.switch_to(this_lane().stack);
    }
    if (!given_up && ended < threads)
        report_stuck();
    else if (!given_up)
        check_leftovers();
    bool complete = ended == threads;
    running = {};
    return complete;
}

void block::entry()
{
    fiber::entered();
    block &self = *running.block;
    (*self.kernel)();
    self.this_lane().ended = true;
    self.ended++;
    self.pause();
    std::abort(); /* nobody resumes an ended thread */
}

/* Late means when nobody can go on without. */
bool block::land_boxes(bool must)
{
    constexpr unsigned often = 8;
    bool now = must || (options.landing == EMULATION_MIXED && below(often) == 0);
    if (!now || boxes.empty())
        return false;
    land_a_box(*this);
    return true;
}

warp *block::pick_warp()
{
    land_boxes(false);
    do {
        if (warp *w = pick_ready_warp())
            return w;
    } while (land_boxes(true));
    return nullptr;
}

warp *block::pick_ready_warp()
{
    auto count = static_cast<unsigned>(threads / warp_threads);
    auto first = static_cast<unsigned>(dice()) % count;
    for (unsigned step = 0; step < count; step++) {
        warp &w = warps[(first + step) % count];
        if (w.ready != 0)
            return &w;
    }
    return nullptr;
}

/* Stops the running thread; goes on with the next of its warp, or with another warp. */
void block::pause()
{
    lane &me = this_lane();
    warp &w = this_warp();
    int number = running.thread % warp_threads;
    w.ready &= ~(uint32_t{ 1 } << number);
    if (w.ready == 0) {
        me.stack.switch_to(*scheduler);
        return;
    }
    uint32_t above = number == warp_threads - 1 ? 0 : w.ready >> (number + 1) << (number + 1);
    int next = __builtin_ctz(above != 0 ? above : w.ready);
    running.thread += next - number;
    me.stack.switch_to(this_lane().stack);
}

void block::wait_to_be_woken()
{
    pause();
}

void block::wake(int thread)
{
    warps[static_cast<size_t>(thread / warp_threads)].ready |= uint32_t{ 1 }
                                                               << (thread % warp_threads);
}

void block::give_up()
{
    given_up = true;
    this_lane().stack.switch_to(*scheduler);
    std::abort(); /* nobody resumes a thread of a block that was given up */
}

bool block::arrive(operation op, const where &at)
{
    warp &w = this_warp();
    if (w.arrived == 0) {
        w.op = op;
        w.at = at;
    } else if (w.op != op || w.at != at) {
        report(EMULATION_DIVERGENT, at, "comes to %s where others of its warp came to %s, line %d",
               operation_name(op), operation_name(w.op), w.at.line);
        give_up();
    }
    w.arrived |= uint32_t{ 1 } << (running.thread % warp_threads);
    if (w.arrived != all_lanes)
        return false;
    banks.count_step(&lanes[static_cast<size_t>(index_of(w)) * warp_threads]);
    return true;
}

void block::leave(warp &w)
{
    w.arrived = 0;
    w.waits_at = -1;
    w.ready = all_lanes;
}

void block::wait_for_warp()
{
    pause();
}

void block::wait_for_barrier()
{
    if (this_warp().arrived != 0)
        pause();
}

accessor block::as_lane()
{
    warp &w = this_warp();
    return { index_of(w), running.thread % warp_threads, &w.knows, &w.fenced };
}

accessor block::as_warp()
{
    warp &w = this_warp();
    return { index_of(w), whole_warp, &w.knows, &w.fenced };
}

void block::release(const warp &w, clock_vector *ret_knows, clock_vector *ret_fenced)
{
    ret_knows->join(w.knows);
    ret_fenced->join(w.fenced);
}

void block::acquire(warp &w, const clock_vector &knows, const clock_vector &fenced)
{
    w.knows.join(knows);
    w.fenced.join(fenced);
}

void block::tick(warp &w)
{
    w.knows.of[index_of(w)]++;
}

int block::index_of(const warp &w) const
{
    return static_cast<int>(&w - warps.data());
}

int block::thread_count() const
{
    return threads;
}

unsigned block::below(unsigned count)
{
    return static_cast<unsigned>(dice()) % count;
}

void block::report_waiting(const warp &w) const
{
    if (w.arrived == 0)
        return;
    int missing = __builtin_ctz(~w.arrived);
    bool missing_ended = lanes[static_cast<size_t>(index_of(w) * warp_threads + missing)].ended;
    report(EMULATION_DIVERGENT, w.at, "%d threads of the warp wait in %s for lane %d, which %s",
           __builtin_popcount(w.arrived), operation_name(w.op), missing,
           missing_ended ? "has ended" : "does not come");
}

/* Nobody can go on: tell of every warp what it waits for. */
void block::report_stuck()
{
    for (int index = 0; index < threads / warp_threads; index++) {
        const warp &w = warps[static_cast<size_t>(index)];
        running.thread = index * warp_threads;
        if (w.waits_at >= 0) {
            const named_barrier_state &b = barriers[static_cast<size_t>(w.waits_at)];
            report(EMULATION_DIVERGENT, w.at, "waits at barrier %d, to which %d of %d threads came",
                   w.waits_at, b.arrived, b.expected);
        } else if (w.arrived != all_lanes) {
            report_waiting(w);
        }
        if (w.arrived != 0)
            report(EMULATION_STUCK, w.at, "waits for ever; %d of %d threads have ended", ended,
                   threads);
        report_at_mbarriers(w);
    }
}

void block::report_at_mbarriers(const warp &w)
{
    for (int number = 0; number < warp_threads; number++) {
        const lane &l = lanes[static_cast<size_t>(index_of(w) * warp_threads + number)];
        if (!l.ended && (w.arrived >> number & 1) == 0)
            report(EMULATION_STUCK, l.waits_at,
                   "lane %d waits for a phase of an mbarrier that does not end", number);
    }
}

void block::check_leftovers()
{
    for (int thread = 0; thread < threads; thread++) {
        const copy_queue &copies = lanes[static_cast<size_t>(thread)].copies;
        running.thread = thread;
        if (!copies.empty())
            report(EMULATION_LEFTOVER, copies.oldest(), "ended without a wait for this copy");
    }
    for (int index = 0; index < threads / warp_threads; index++) {
        const warp &w = warps[static_cast<size_t>(index)];
        running.thread = index * warp_threads;
        for (const std::unique_ptr<pending_result> &result : w.products.results)
            report(EMULATION_LEFTOVER, result->at, "ended without a wait for this product");
    }
    for (const pending_box &box : boxes)
        report(EMULATION_LEFTOVER, box.at, "the block ended without a wait for this copy");
    check_warpgroups();
    check_registers();
}

/* Four warps issue their products together. */
void block::check_warpgroups()
{
    constexpr int group_warps = 4;
    for (int index = 0; index < threads / warp_threads; index++) {
        const product_queue &mine = warps[static_cast<size_t>(index)].products;
        const product_queue &first =
            warps[static_cast<size_t>(index / group_warps * group_warps)].products;
        running.thread = index * warp_threads;
        if (mine.digest != first.digest)
            report(EMULATION_DIVERGENT, mine.last,
                   "issued other products than the first warp of its warpgroup");
    }
}

void block::check_registers()
{
    constexpr int of_multiprocessor = 65536, granule = 8;
    int at_first = of_multiprocessor / threads / granule * granule, sum = 0;
    for (int index = 0; index < threads / warp_threads; index++) {
        int said = warps[static_cast<size_t>(index)].registers;
        sum += (said != 0 ? said : at_first) * warp_threads;
    }
    if (sum > of_multiprocessor)
        report(EMULATION_MISUSE, where(), "warps ask for %d registers together; there are %d", sum,
               of_multiprocessor);
}

} // namespace emulation
