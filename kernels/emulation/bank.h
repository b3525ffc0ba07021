/*
 * Bank conflicts. Shared memory has 32 banks of 4 bytes; the lanes of a warp that touch different
 * words of one bank take turns. Lanes of 16 bytes go by eights, of 8 bytes by sixteens.
 */
#ifndef BALLAST_KERNELS_EMULATION_BANK_H
#define BALLAST_KERNELS_EMULATION_BANK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Turns that all launches took beyond the fewest possible, and the fewest. */
long emulation_bank_conflicts(void);
long emulation_bank_turns(void);

/* Lines with conflicts, one a line of text, which stays until the next call in this thread. */
const char *emulation_bank_text(void);

void emulation_clear_banks(void);

#ifdef __cplusplus
}

#include "kernels/emulation/where.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulation
{

struct bank_access {
    uint32_t offset, bytes;
    where at;
};

using bank_log = std::vector<bank_access>;

struct lane; /* block.h */

/* Of one block at a time; added to the sums of the process by publish(). */
class bank_counts
{
  public:
    /*
     * Takes the accesses that 32 lanes noted since they were last in step: the first of each
     * are one instruction, the second another, and so on, as far as lines agree.
     */
    void count_step(lane *lanes);

    /* One instruction of 16 bytes a lane: ldmatrix, whose rows come in eights too. */
    void count_rows(const uint8_t *const *rows, const where &at);

    void publish();

  private:
    struct line_count {
        where at;
        long turns, conflicts;
    };
    void count_instruction(const lane *lanes, size_t number);
    void add(const where &at, long turns, long conflicts);
    std::vector<line_count> lines;
};

} // namespace emulation
#endif

#endif
