#include "kernels/emulation/bank.h"

#include "kernels/emulation/block.h"
#include <algorithm>
#include <map>
#include <mutex>
#include <string>

namespace
{

struct sums {
    long turns = 0, conflicts = 0;
};

std::mutex guard;
sums total;
std::map<std::pair<std::string, int>, sums> by_line;

constexpr uint32_t bytes_a_turn = 128; /* all banks */

/*
 * Turns for `count` lanes that go together. What they touch are units of their size, at least a
 * word; units that share a slot of the banks conflict unless they are the same.
 */
long turns_of(const uint32_t *units, int count, uint32_t slots)
{
    uint32_t taken = 0;
    bool distinct = true;
    for (int lane = 0; lane < count; lane++) {
        uint32_t bit = uint32_t{ 1 } << (units[lane] % slots);
        distinct &= (taken & bit) == 0;
        taken |= bit;
    }
    if (distinct)
        return 1;

    uint32_t seen[emulation::warp_threads];
    int used[emulation::warp_threads] = {};
    int most = 1, known = 0;
    for (int lane = 0; lane < count; lane++) {
        if (std::find(seen, seen + known, units[lane]) != seen + known)
            continue;
        seen[known++] = units[lane];
        most = std::max(most, ++used[units[lane] % slots]);
    }
    return most;
}

} // namespace

namespace emulation
{

void bank_counts::add(const where &at, long turns, long conflicts)
{
    for (line_count &entry : lines) {
        if (entry.at == at) {
            entry.turns += turns;
            entry.conflicts += conflicts;
            return;
        }
    }
    lines.push_back({ at, turns, conflicts });
}

void bank_counts::count_rows(const uint8_t *const *rows, const where &at)
{
    constexpr uint32_t row_bytes = 16;
    constexpr int rows_a_turn = bytes_a_turn / row_bytes;
    long turns = 0;
    for (int first = 0; first < warp_threads; first += rows_a_turn) {
        uint32_t units[rows_a_turn];
        for (int row = 0; row < rows_a_turn; row++)
            units[row] = static_cast<uint32_t>(rows[first + row] - running.shared) / row_bytes;
        turns += turns_of(units, rows_a_turn, rows_a_turn);
    }
    constexpr int fewest = warp_threads / rows_a_turn;
    add(at, fewest, turns - fewest);
}

/* The accesses `number` of the lanes, as far as they are of one line: one instruction. */
void bank_counts::count_instruction(const lane *lanes, size_t number)
{
    uint32_t units[warp_threads];
    const bank_access *leader = nullptr;
    uint32_t unit_bytes = 4;
    int together = 0;
    for (int l = 0; l < warp_threads; l++) {
        if (number >= lanes[l].accesses.size())
            continue;
        const bank_access &access = lanes[l].accesses[number];
        if (leader == nullptr) {
            leader = &access;
            unit_bytes = std::max(access.bytes, unit_bytes);
        }
        if (access.at == leader->at && access.bytes == leader->bytes)
            units[together++] = access.offset / unit_bytes;
    }
    auto slots = static_cast<int>(bytes_a_turn / unit_bytes);
    long turns = 0, fewest = 0;
    for (int first = 0; first < together; first += slots) {
        turns += turns_of(units + first, std::min(slots, together - first),
                          static_cast<uint32_t>(slots));
        fewest++;
    }
    add(leader->at, fewest, turns - fewest);
}

void bank_counts::count_step(lane *lanes)
{
    size_t most = 0;
    for (int l = 0; l < warp_threads; l++)
        most = std::max(most, lanes[l].accesses.size());
    if (most == 0)
        return;
    for (size_t number = 0; number < most; number++)
        count_instruction(lanes, number);
    for (int l = 0; l < warp_threads; l++)
        lanes[l].accesses.clear();
}

void bank_counts::publish()
{
    std::lock_guard<std::mutex> lock(guard);
    for (const line_count &entry : lines) {
        total.turns += entry.turns;
        total.conflicts += entry.conflicts;
        sums &line = by_line[{ entry.at.file, entry.at.line }];
        line.turns += entry.turns;
        line.conflicts += entry.conflicts;
    }
    lines.clear();
}

} // namespace emulation

long emulation_bank_conflicts()
{
    std::lock_guard<std::mutex> lock(guard);
    return total.conflicts;
}

long emulation_bank_turns()
{
    std::lock_guard<std::mutex> lock(guard);
    return total.turns;
}

const char *emulation_bank_text()
{
    static thread_local std::string text;
    std::lock_guard<std::mutex> lock(guard);
    text.clear();
    for (const auto &[line, count] : by_line)
        if (count.conflicts != 0)
            text += line.first + ":" + std::to_string(line.second) + ": " +
                    std::to_string(count.conflicts) + " turns over " + std::to_string(count.turns) +
                    "\n";
    return text.c_str();
}

void emulation_clear_banks()
{
    std::lock_guard<std::mutex> lock(guard);
    total = {};
    by_line.clear();
}
