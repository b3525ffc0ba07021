/* A line of a kernel, as reports name it: `where()` as a default argument is who calls. */
#ifndef BALLAST_KERNELS_EMULATION_WHERE_H
#define BALLAST_KERNELS_EMULATION_WHERE_H

namespace emulation
{

struct where {
    const char *file; /* static */
    int line;

    where(const char *caller_file = __builtin_FILE(), int caller_line = __builtin_LINE())
        : file(caller_file), line(caller_line)
    {
    }

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
