#include "kernels/emulation/work.h"

#include <atomic>

static std::atomic<unsigned long long> products{ 0 };

unsigned long long emulation_products()
{
    return products.load();
}

void emulation::add_products(unsigned long long more)
{
    products += more;
}
