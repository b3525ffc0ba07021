/* As test_faults.cu, with what devices of 9.0 add: mbarriers, tensor copies, wgmma. */
#include "tests/kernels/emulation/flawed_kernel_sm90.h"

#include "kernels/common/launch.h"
#include "tests/kernels/emulation/seeded_faults.h"

namespace
{

using shape = flawed_shape_sm90;
using kernel = void (*)(const gpu::bf16 *, gpu::tensor_map, float *);

seeded::outcome run(kernel entry)
{
    check::device_array<gpu::bf16> q(seeded::numbers(shape::rows * shape::columns));
    check::device_array<gpu::bf16> k(seeded::numbers(shape::keys * shape::columns));
    check::device_array<float> out(shape::rows);
    gpu::tensor_map map;
    CHECK_CUDA(gpu::make_tensor_map(
        { k.get(), shape::columns, 1, shape::keys, shape::columns, shape::columns, 1, shape::tile },
        &map));
    CHECK_CUDA(gpu::launch(entry, { 1, shape::threads, shape::shared_bytes, nullptr }, q.get(), map,
                           out.get()));
    return { emulation_faults(), emulation_bank_conflicts(),
             seeded::is_right(out.get(), shape::rows, shape::columns, shape::keys) };
}

template <flaw_sm90 F>
seeded::flaw_case<kernel> seed(const char *name, std::initializer_list<int> ways)
{
    return { name, run_flawed_sm90<F>, seeded::one_of(ways) };
}

const seeded::flaw_case<kernel> flaws[] = {
    seed<flaw_sm90::no_wait_for_keys>(
        "no wait for keys", { EMULATION_RACE, EMULATION_IN_FLIGHT, EMULATION_UNINITIALISED }),
    seed<flaw_sm90::waits_for_the_wrong_phase>(
        "waits for the wrong phase",
        { EMULATION_RACE, EMULATION_IN_FLIGHT, EMULATION_UNINITIALISED, EMULATION_STUCK }),
    seed<flaw_sm90::releases_before_the_product_ends>("releases before the product ends",
                                                      { EMULATION_RACE }),
    seed<flaw_sm90::never_releases>("never releases", { EMULATION_STUCK }),
    seed<flaw_sm90::releases_twice>("releases twice", { EMULATION_RACE, EMULATION_IN_FLIGHT,
                                                        EMULATION_MISUSE, EMULATION_STUCK }),
    seed<flaw_sm90::no_wait_for_products>("no wait for products", { EMULATION_LEFTOVER }),
    seed<flaw_sm90::no_fence_before_products>("no fence before products", { EMULATION_MISUSE }),
    seed<flaw_sm90::forgets_to_commit>("forgets to commit", { seeded::wrong_result }),
    seed<flaw_sm90::expects_too_many_bytes>("expects too many bytes", { EMULATION_STUCK }),
    seed<flaw_sm90::expects_too_few_bytes>("expects too few bytes", { EMULATION_STUCK }),
    seed<flaw_sm90::no_fence_of_mbarriers>("no fence of mbarriers", { EMULATION_PROXY }),
    seed<flaw_sm90::no_barrier_after_mbarriers>("no barrier after mbarriers",
                                                { EMULATION_RACE, EMULATION_UNINITIALISED }),
    seed<flaw_sm90::no_fence_of_stores>("no fence of stores", { EMULATION_PROXY }),
    seed<flaw_sm90::no_barrier_after_stores>("no barrier after stores", { EMULATION_RACE }),
    seed<flaw_sm90::one_warp_stays_away>("one warp stays away", { EMULATION_DIVERGENT }),
    seed<flaw_sm90::steps_too_far>("steps too far", { seeded::wrong_result }),
    seed<flaw_sm90::box_does_not_fit>("box does not fit", { EMULATION_OUT_OF_BOUNDS }),
    seed<flaw_sm90::takes_too_many_registers>("takes too many registers", { EMULATION_MISUSE }),
};

void the_sound_kernel_is_left_alone()
{
    seeded::check_sound(run_flawed_sm90<flaw_sm90::none>, run);
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
