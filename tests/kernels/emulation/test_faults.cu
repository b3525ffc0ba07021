/*
 * That the emulation catches what it claims to: each flaw has to be told of in the words it should
 * be, whenever copies land and in whatever order warps run; the sound kernel never.
 */
#include "tests/kernels/emulation/flawed_kernel.h"

#include "kernels/common/launch.h"
#include "kernels/emulation/options.h"
#include "tests/kernels/common/check.h"
#include <string>

using check::device_array;
using gpu::bf16;

namespace
{

using shape = flawed_shape;

/* How a flaw shows; a fault of the emulation, or one of these. */
constexpr int bank_conflicts = EMULATION_FAULTS, wrong_result = EMULATION_FAULTS + 1;

struct outcome {
    long faults, conflicts;
    bool right;
};

float number(int i)
{
    return static_cast<float>(i * 5 % 13 - 6) / 2;
}

std::vector<bf16> numbers(int count)
{
    std::vector<bf16> made;
    for (int i = 0; i < count; i++)
        made.push_back({ bf16_from_float(number(i)) });
    return made;
}

bool is_right(const std::vector<float> &out)
{
    for (int row = 0; row < shape::rows; row++) {
        float sum = 0;
        for (int key = 0; key <= row && key < shape::keys; key++)
            for (int i = 0; i < shape::columns; i++)
                sum += number(row * shape::columns + i) * number(key * shape::columns + i);
        if (out[static_cast<size_t>(row)] != sum)
            return false;
    }
    return true;
}

using kernel = void (*)(const bf16 *, const bf16 *, float *);

outcome run(kernel entry)
{
    device_array<bf16> q(numbers(shape::rows * shape::columns));
    device_array<bf16> k(numbers(shape::keys * shape::columns));
    device_array<float> out(shape::rows);
    CHECK_CUDA(gpu::launch(entry, { 1, shape::threads, shape::shared_bytes, nullptr }, q.get(),
                           k.get(), out.get()));
    outcome result{ emulation_faults(), emulation_bank_conflicts(), false };
    std::vector<float> host(shape::rows);
    (void)cudaMemcpy(host.data(), out.get(), host.size() * sizeof(float), cudaMemcpyDeviceToHost);
    result.right = is_right(host);
    return result;
}

bool shows(const outcome &result, int how)
{
    if (how == bank_conflicts)
        return result.conflicts > 0;
    if (how == wrong_result)
        return !result.right;
    return emulation_fault_count(static_cast<emulation_fault>(how)) > 0;
}

const char *name_of(int how)
{
    if (how == bank_conflicts)
        return "bank conflicts";
    return how == wrong_result ? "a wrong result"
                               : emulation_fault_name(static_cast<emulation_fault>(how));
}

struct seeded {
    const char *name;
    kernel entry;
    int shows_as;
};

#define SEEDED(name, how)                                                                          \
    {                                                                                              \
#name, run_flawed < flaw::name>, how                                                       \
    }

const seeded flaws[] = {
    SEEDED(no_barrier_after_wait, EMULATION_RACE),
    SEEDED(no_barrier_before_reuse, EMULATION_RACE),
    SEEDED(waits_for_too_few_groups, EMULATION_IN_FLIGHT),
    SEEDED(forgets_to_commit, EMULATION_IN_FLIGHT),
    SEEDED(forgets_to_wait_at_the_end, EMULATION_LEFTOVER),
    SEEDED(leaves_the_tail_unfilled, EMULATION_UNINITIALISED),
    SEEDED(reads_beyond_the_keys, EMULATION_OUT_OF_BOUNDS),
    SEEDED(no_swizzle, bank_conflicts),
    SEEDED(no_mask, wrong_result),
    SEEDED(barrier_for_some_threads, EMULATION_DIVERGENT),
    SEEDED(barrier_for_one_warp, EMULATION_DIVERGENT),
    SEEDED(shuffle_in_a_branch, EMULATION_DIVERGENT),
    SEEDED(buffer_too_small, EMULATION_OUT_OF_BOUNDS),
    SEEDED(copy_not_aligned, EMULATION_MISALIGNED),
    SEEDED(no_warp_sync, EMULATION_RACE),
    SEEDED(writes_beyond_the_result, EMULATION_OUT_OF_BOUNDS),
    SEEDED(reads_memory_nobody_wrote, EMULATION_UNINITIALISED),
    SEEDED(named_barrier_for_too_many, EMULATION_DIVERGENT),
};

template <class F> void under_every_condition(F body)
{
    emulation_options options = emulation_get_options();
    for (emulation_landing landing : { EMULATION_LATE, EMULATION_EARLY, EMULATION_MIXED }) {
        for (unsigned seed = 1; seed <= 8; seed++) {
            emulation_options now = options;
            now.landing = landing;
            now.seed = seed;
            emulation_set_options(&now);
            emulation_clear_faults();
            emulation_clear_banks();
            body();
        }
    }
    emulation_set_options(&options);
    emulation_clear_faults();
}

void the_sound_kernel_is_left_alone()
{
    under_every_condition([] {
        outcome result = run(run_flawed<flaw::none>);
        CHECK(result.faults == 0);
        CHECK(result.conflicts == 0);
        CHECK(result.right);
    });
}

void every_flaw_is_told_of()
{
    for (const seeded &flaw : flaws) {
        int missed = 0;
        std::string text;
        under_every_condition([&] {
            missed += shows(run(flaw.entry), flaw.shows_as) ? 0 : 1;
            text = emulation_fault_text();
        });
        std::printf("  %-28s %s%s\n%s", flaw.name, name_of(flaw.shows_as),
                    missed != 0 ? ": missed" : "", text.c_str());
        CHECK(missed == 0);
    }
}

} // namespace

int main()
{
    return check::run_all({
        { "the sound kernel is left alone", the_sound_kernel_is_left_alone },
        { "every flaw is told of", every_flaw_is_told_of },
    });
}
