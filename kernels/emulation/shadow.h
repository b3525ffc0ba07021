/*
 * What is known of each word of a block's shared memory: who wrote it and which warps read it,
 * and when. Every access is checked against that; see clock.h for what ordered means.
 */
#ifndef BALLAST_KERNELS_EMULATION_SHADOW_H
#define BALLAST_KERNELS_EMULATION_SHADOW_H

#include "kernels/emulation/clock.h"
#include "kernels/emulation/where.h"
#include <cstddef>
#include <vector>

namespace emulation
{

/*
 * Who makes an access. A warp as a whole counts as a lane; so does, in stores of less than a word,
 * whoever has the other half: those are not checked within a warp.
 */
struct accessor {
    int warp, lane;
    const clock_vector *knows;  /* of the warp; its own entry is the clock of the access */
    const clock_vector *fenced; /* what of that the asynchronous proxy may rely on */
};

constexpr int whole_warp = 32;
constexpr int part_of_word = 33;

class shadow
{
  public:
    /* Nothing is written, nothing is read. */
    void begin(size_t bytes, int warps);

    /* Of `bytes` bytes at `offset`, which are inside. A fault is reported; the access goes on. */
    void read(size_t offset, size_t bytes, const accessor &who, const where &at);
    void write(size_t offset, size_t bytes, const accessor &who, const where &at);

    /* A copy is on its way from now on: whoever touches these bytes gets something or other. */
    void write_begins(size_t offset, size_t bytes, const accessor &who, const where &at);

    /* It has come, and is seen by who is ordered after `by`. */
    void write_ends(size_t offset, size_t bytes, stamp by, const accessor &who, const where &at);

    /*
     * Reads by the asynchronous proxy, between whose begin and end nobody may write; `clock` is
     * the warp's at the end. Plain writes before it must have been fenced.
     */
    void proxy_read_begins(size_t offset, size_t bytes, const accessor &who, const where &at);
    void proxy_read_ends(size_t offset, size_t bytes, int warp, uint32_t clock);
    void proxy_read_goes_on(size_t offset, size_t bytes, int warp);

    /* Plain writes that a copy of the asynchronous proxy overwrites must have been fenced too. */
    void check_fenced(size_t offset, size_t bytes, const accessor &who, const where &at) const;

  private:
    void check_read(size_t word, const accessor &who, const where &at) const;
    void check_write(size_t word, const accessor &who, const where &at) const;
    void set_written(size_t first, size_t end, stamp by, int lane, const where &at);
    void report_race(size_t word, const char *what, const accessor &who, const where &at) const;
    bool same_as_first(size_t first, size_t end) const;

    std::vector<stamp> written;              /* by whom last */
    std::vector<uint32_t> writer;            /* its line and lane */
    std::vector<std::vector<uint32_t>> seen; /* [warp] its clock when it last read the word */
};

} // namespace emulation

#endif
