#include "kernels/emulation/shadow.h"

#include "kernels/emulation/fault.h"

namespace emulation
{

static constexpr size_t word_bytes = 4;
static constexpr int lane_bits = 6;

static size_t first_word(size_t offset)
{
    return offset / word_bytes;
}

static size_t end_word(size_t offset, size_t bytes)
{
    return (offset + bytes + word_bytes - 1) / word_bytes;
}

static uint32_t clock_of(const accessor &who)
{
    return who.knows->of[who.warp];
}

void shadow::begin(size_t bytes, int warps)
{
    size_t words = end_word(0, bytes);
    written.assign(words, 0);
    writer.assign(words, 0);
    seen.resize(static_cast<size_t>(warps));
    for (std::vector<uint32_t> &clocks : seen)
        clocks.assign(words, 0);
}

void shadow::report_race(size_t word, const char *what, const accessor &who, const where &at) const
{
    stamp by = written[word];
    if (stamp_clock(by) == clock_never)
        report(EMULATION_IN_FLIGHT, at, "%s shared memory + %zu; the copy of line %u is on its way",
               what, word * word_bytes, writer[word] >> lane_bits);
    else
        report(EMULATION_RACE, at, "warp %d %s shared memory + %zu; last written by %s %d, line %u",
               who.warp, what, word * word_bytes,
               stamp_agent(by) < max_warps ? "warp" : "copies of mbarrier",
               stamp_agent(by) % max_warps, writer[word] >> lane_bits);
}

/* Lanes of one warp need a warp_sync between them, too. */
static bool own_lane_or_synced(stamp by, uint32_t writer, const accessor &who)
{
    bool same_step = stamp_agent(by) == who.warp && stamp_clock(by) == clock_of(who);
    auto lane = static_cast<int>(writer & ((1U << lane_bits) - 1));
    return !same_step || lane == who.lane || lane == part_of_word;
}

void shadow::check_read(size_t word, const accessor &who, const where &at) const
{
    stamp by = written[word];
    if (by == 0)
        report(EMULATION_UNINITIALISED, at, "reads shared memory + %zu, which nobody wrote",
               word * word_bytes);
    else if (!ordered(by, *who.knows) || !own_lane_or_synced(by, writer[word], who))
        report_race(word, "reads", who, at);
}

void shadow::check_write(size_t word, const accessor &who, const where &at) const
{
    stamp by = written[word];
    if (by != 0 && (!ordered(by, *who.knows) || !own_lane_or_synced(by, writer[word], who)))
        report_race(word, "writes", who, at);
    for (size_t warp = 0; warp < seen.size(); warp++) {
        if (seen[warp][word] <= who.knows->of[warp])
            continue;
        bool reading = seen[warp][word] == clock_never;
        report(EMULATION_RACE, at, "writes shared memory + %zu, which warp %zu %s",
               word * word_bytes, warp, reading ? "is still reading" : "may not have read yet");
    }
}

/* Most accesses are of words with one history: check one, spare the rest. */
bool shadow::same_as_first(size_t first, size_t end) const
{
    bool same = true;
    for (size_t word = first + 1; word < end; word++)
        same &= written[word] == written[first] && writer[word] == writer[first];
    return same;
}

void shadow::read(size_t offset, size_t bytes, const accessor &who, const where &at)
{
    size_t first = first_word(offset), end = end_word(offset, bytes);
    size_t checked = same_as_first(first, end) ? first + 1 : end;
    for (size_t word = first; word < checked; word++)
        check_read(word, who, at);
    std::vector<uint32_t> &mine = seen[static_cast<size_t>(who.warp)];
    for (size_t word = first; word < end; word++)
        mine[word] = clock_of(who);
}

void shadow::set_written(size_t first, size_t end, stamp by, int lane, const where &at)
{
    uint32_t note = static_cast<uint32_t>(at.line) << lane_bits | static_cast<uint32_t>(lane);
    for (size_t word = first; word < end; word++) {
        written[word] = by;
        writer[word] = note;
    }
}

void shadow::write(size_t offset, size_t bytes, const accessor &who, const where &at)
{
    size_t first = first_word(offset), end = end_word(offset, bytes);
    for (size_t word = first; word < end; word++)
        check_write(word, who, at);
    int lane = bytes < word_bytes ? part_of_word : who.lane;
    set_written(first, end, make_stamp(who.warp, clock_of(who)), lane, at);
}

void shadow::write_begins(size_t offset, size_t bytes, const accessor &who, const where &at)
{
    size_t first = first_word(offset), end = end_word(offset, bytes);
    for (size_t word = first; word < end; word++)
        check_write(word, who, at);
    set_written(first, end, make_stamp(who.warp, clock_never), who.lane, at);
}

void shadow::write_ends(size_t offset, size_t bytes, stamp by, const accessor &who, const where &at)
{
    set_written(first_word(offset), end_word(offset, bytes), by, who.lane, at);
}

void shadow::check_fenced(size_t offset, size_t bytes, const accessor &who, const where &at) const
{
    size_t first = first_word(offset), end = end_word(offset, bytes);
    size_t checked = same_as_first(first, end) ? first + 1 : end;
    for (size_t word = first; word < checked; word++) {
        stamp by = written[word];
        bool plain = by != 0 && stamp_agent(by) < max_warps && stamp_clock(by) != clock_never;
        if (plain && !ordered(by, *who.fenced))
            report(EMULATION_PROXY, at,
                   "shared memory + %zu was written by the threads themselves, line %u, "
                   "without fence_proxy_async since",
                   word * word_bytes, writer[word] >> lane_bits);
    }
}

void shadow::proxy_read_begins(size_t offset, size_t bytes, const accessor &who, const where &at)
{
    read(offset, bytes, who, at);
    check_fenced(offset, bytes, who, at);
    proxy_read_goes_on(offset, bytes, who.warp);
}

void shadow::proxy_read_goes_on(size_t offset, size_t bytes, int warp)
{
    proxy_read_ends(offset, bytes, warp, clock_never);
}

void shadow::proxy_read_ends(size_t offset, size_t bytes, int warp, uint32_t clock)
{
    std::vector<uint32_t> &mine = seen[static_cast<size_t>(warp)];
    for (size_t word = first_word(offset); word < end_word(offset, bytes); word++)
        mine[word] = clock;
}

} // namespace emulation
