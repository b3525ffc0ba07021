/* A line of a kernel, as reports name it. */
#ifndef BALLAST_KERNELS_EMULATION_WHERE_H
#define BALLAST_KERNELS_EMULATION_WHERE_H

namespace emulation
{

struct where {
    const char *file = nullptr; /* static */
    int line = 0;

    friend bool operator==(const where &a, const where &b)
    {
        return a.line == b.line && a.file == b.file;
    }
    friend bool operator!=(const where &a, const where &b)
    {
        return !(a == b);
    }
};

} // namespace emulation

#endif
