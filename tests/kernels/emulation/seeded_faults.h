/* What the two suites of seeded faults share: conditions, how a flaw shows, and the report. */
#ifndef BALLAST_TESTS_KERNELS_EMULATION_SEEDED_FAULTS_H
#define BALLAST_TESTS_KERNELS_EMULATION_SEEDED_FAULTS_H

#include "kernels/common/number.h"
#include "kernels/emulation/options.h"
#include "tests/kernels/common/check.h"
#include <initializer_list>
#include <string>

namespace seeded
{

/* How a flaw shows: a fault of the emulation, or one of these. */
constexpr int bank_conflicts = EMULATION_FAULTS, wrong_result = EMULATION_FAULTS + 1;

struct outcome {
    long faults, conflicts;
    bool right;
};

inline float number(int i)
{
    return static_cast<float>(i * 5 % 13 - 6) / 2;
}

inline std::vector<gpu::bf16> numbers(int count)
{
    std::vector<gpu::bf16> made;
    for (int i = 0; i < count; i++)
        made.push_back({ bf16_from_float(number(i)) });
    return made;
}

/* Sums of q_row . k_key over keys up to the row, from device memory that may hold anything. */
inline bool is_right(const float *device, int rows, int columns, int keys)
{
    std::vector<float> out(static_cast<size_t>(rows));
    (void)cudaMemcpy(out.data(), device, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (int row = 0; row < rows; row++) {
        float sum = 0;
        for (int key = 0; key <= row && key < keys; key++)
            for (int i = 0; i < columns; i++)
                sum += number(row * columns + i) * number(key * columns + i);
        if (out[static_cast<size_t>(row)] != sum)
            return false;
    }
    return true;
}

/* `how` is a set: which of them it is may depend on when copies land. */
constexpr unsigned one_of(std::initializer_list<int> ways)
{
    unsigned how = 0;
    for (int way : ways)
        how |= 1U << way;
    return how;
}

inline bool shows(const outcome &result, unsigned how)
{
    bool shown = ((how >> bank_conflicts & 1) != 0 && result.conflicts > 0) ||
                 ((how >> wrong_result & 1) != 0 && !result.right);
    for (int kind = 0; kind < EMULATION_FAULTS; kind++)
        shown = shown || ((how >> kind & 1) != 0 &&
                          emulation_fault_count(static_cast<emulation_fault>(kind)) > 0);
    return shown;
}

inline std::string names_of(unsigned how)
{
    std::string names;
    for (int way = 0; way <= wrong_result; way++) {
        if ((how >> way & 1) == 0)
            continue;
        names += names.empty() ? "" : " or ";
        names += way == bank_conflicts ? "bank conflicts"
                 : way == wrong_result ? "a wrong result"
                                       : emulation_fault_name(static_cast<emulation_fault>(way));
    }
    return names;
}

/* Copies land late, early and by chance, under eight orders of warps each. */
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

template <class Kernel> struct flaw_case {
    const char *name;
    Kernel entry;
    unsigned shows_as;
};

/* Fails unless `run` of the kernel shows the flaw under every condition. */
template <class Kernel, class Run> void check_told_of(const flaw_case<Kernel> &flaw, Run run)
{
    int missed = 0;
    std::string text;
    under_every_condition([&] {
        missed += shows(run(flaw.entry), flaw.shows_as) ? 0 : 1;
        text = emulation_fault_text();
    });
    std::printf("  %-34s %s%s\n%s", flaw.name, names_of(flaw.shows_as).c_str(),
                missed != 0 ? ": missed" : "", text.c_str());
    CHECK(missed == 0);
}

template <class Kernel, class Run> void check_sound(Kernel entry, Run run)
{
    under_every_condition([&] {
        outcome result = run(entry);
        CHECK(result.faults == 0);
        CHECK(result.conflicts == 0);
        CHECK(result.right);
    });
}

} // namespace seeded

#endif
