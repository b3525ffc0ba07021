#include "kernels/emulation/options.h"

#include <mutex>

static std::mutex guard;
static emulation_options current = { 1, EMULATION_LATE, 9, 0, 2, 0 };

emulation_options emulation_get_options()
{
    std::lock_guard<std::mutex> lock(guard);
    return current;
}

void emulation_set_options(const emulation_options *options)
{
    std::lock_guard<std::mutex> lock(guard);
    current = *options;
}
