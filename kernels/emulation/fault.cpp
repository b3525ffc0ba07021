#include "kernels/emulation/fault.h"

#include "kernels/emulation/thread.h"
#include <cstdarg>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace
{

struct line_faults {
    long count = 0;
    std::string first; /* the text of the first one */
};

std::mutex guard;
std::map<std::tuple<int, std::string, int>, line_faults> faults;
long counts[EMULATION_FAULTS];

std::string base_name(const char *path)
{
    std::string text = path != nullptr ? path : "?";
    size_t slash = text.rfind('/');
    return slash == std::string::npos ? text : text.substr(slash + 1);
}

std::string place(const emulation::where &at)
{
    std::string text = base_name(at.file) + ":" + std::to_string(at.line);
    const emulation::running_thread &who = emulation::running;
    if (who.block == nullptr)
        return text;
    return text + ": block " + std::to_string(who.block_index) + ", thread " +
           std::to_string(who.thread) + " (warp " + std::to_string(who.thread / 32) + ")";
}

} // namespace

namespace emulation
{

void report(emulation_fault kind, const where &at, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    std::lock_guard<std::mutex> lock(guard);
    counts[kind]++;
    line_faults &entry = faults[{ kind, base_name(at.file), at.line }];
    if (entry.count++ == 0)
        entry.first = place(at) + ": " + text;
}

} // namespace emulation

long emulation_fault_count(emulation_fault kind)
{
    std::lock_guard<std::mutex> lock(guard);
    return counts[kind];
}

long emulation_faults()
{
    std::lock_guard<std::mutex> lock(guard);
    long sum = 0;
    for (long count : counts)
        sum += count;
    return sum;
}

const char *emulation_fault_name(emulation_fault kind)
{
    static const char *const names[EMULATION_FAULTS] = { "race",   "in flight", "uninitialised",
                                                         "bounds", "alignment", "divergent",
                                                         "stuck",  "left over", "proxy",
                                                         "misuse" };
    return names[kind];
}

const char *emulation_fault_text()
{
    static thread_local std::string text;
    std::lock_guard<std::mutex> lock(guard);
    text.clear();
    for (const auto &[key, entry] : faults)
        text += std::string(emulation_fault_name(static_cast<emulation_fault>(std::get<0>(key)))) +
                ": " + entry.first + " (" + std::to_string(entry.count) + " times)\n";
    return text.c_str();
}

void emulation_clear_faults()
{
    std::lock_guard<std::mutex> lock(guard);
    faults.clear();
    for (long &count : counts)
        count = 0;
}
