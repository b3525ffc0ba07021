/*
 * That the emulation catches what it claims to: each flaw has to be told of in the words it should
 * be, whenever copies land and in whatever order warps run; the sound kernel never.
 */
#include "tests/kernels/emulation/flawed_kernel.h"

#include "kernels/common/launch.h"
#include "tests/kernels/emulation/seeded_faults.h"

namespace
{

using shape = flawed_shape;
using kernel = void (*)(const gpu::bf16 *, const gpu::bf16 *, float *);

seeded::outcome run(kernel entry)
{
    check::device_array<gpu::bf16> q(seeded::numbers(shape::rows * shape::columns));
    check::device_array<gpu::bf16> k(seeded::numbers(shape::keys * shape::columns));
    check::device_array<float> out(shape::rows);
    CHECK_CUDA(gpu::launch(entry, { 1, shape::threads, shape::shared_bytes, nullptr }, q.get(),
                           k.get(), out.get()));
    return { emulation_faults(), emulation_bank_conflicts(),
             seeded::is_right(out.get(), shape::rows, shape::columns, shape::keys) };
}

template <flaw F> seeded::flaw_case<kernel> seed(const char *name, std::initializer_list<int> ways)
{
    return { name, run_flawed<F>, seeded::one_of(ways) };
}

const seeded::flaw_case<kernel> flaws[] = {
    seed<flaw::no_barrier_after_wait>("no barrier after wait", { EMULATION_RACE }),
    seed<flaw::no_barrier_before_reuse>("no barrier before reuse", { EMULATION_RACE }),
    seed<flaw::waits_for_too_few_groups>("waits for too few groups", { EMULATION_IN_FLIGHT }),
    seed<flaw::forgets_to_commit>("forgets to commit", { EMULATION_IN_FLIGHT }),
    seed<flaw::forgets_to_wait_at_the_end>("forgets to wait at the end", { EMULATION_LEFTOVER }),
    seed<flaw::leaves_the_tail_unfilled>("leaves the tail unfilled", { EMULATION_UNINITIALISED }),
    seed<flaw::reads_beyond_the_keys>("reads beyond the keys", { EMULATION_OUT_OF_BOUNDS }),
    seed<flaw::no_swizzle>("no swizzle", { seeded::bank_conflicts }),
    seed<flaw::no_mask>("no mask", { seeded::wrong_result }),
    seed<flaw::barrier_for_some_threads>("barrier for some threads", { EMULATION_DIVERGENT }),
    seed<flaw::barrier_for_one_warp>("barrier for one warp", { EMULATION_DIVERGENT }),
    seed<flaw::shuffle_in_a_branch>("shuffle in a branch", { EMULATION_DIVERGENT }),
    seed<flaw::buffer_too_small>("buffer too small", { EMULATION_OUT_OF_BOUNDS }),
    seed<flaw::copy_not_aligned>("copy not aligned", { EMULATION_MISALIGNED }),
    seed<flaw::no_warp_sync>("no warp sync", { EMULATION_RACE }),
    seed<flaw::writes_beyond_the_result>("writes beyond the result", { EMULATION_OUT_OF_BOUNDS }),
    seed<flaw::reads_memory_nobody_wrote>("reads memory nobody wrote", { EMULATION_UNINITIALISED }),
    seed<flaw::named_barrier_for_too_many>("named barrier for too many", { EMULATION_DIVERGENT }),
};

void the_sound_kernel_is_left_alone()
{
    seeded::check_sound(run_flawed<flaw::none>, run);
}

void every_flaw_is_told_of()
{
    for (const seeded::flaw_case<kernel> &flaw : flaws)
        seeded::check_told_of(flaw, run);
}

} // namespace

int main()
{
    return check::run_all({
        { "the sound kernel is left alone", the_sound_kernel_is_left_alone },
        { "every flaw is told of", every_flaw_is_told_of },
    });
}
