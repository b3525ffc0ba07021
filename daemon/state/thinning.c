#include "state/thinning.h"

static uint64_t distance(uint64_t step, uint64_t centre)
{
    return step > centre ? step - centre : centre - step;
}

/* 0 for a distance of 0, then how many binary digits it has. */
static unsigned digits(uint64_t number)
{
    return number ? 64u - (unsigned)__builtin_clzll(number) : 0;
}

/* Of two steps on one side of the job and as many digits away, the further one: it grows old. */
static void keep_one_a_doubling(struct thinning_item *items, size_t count, uint64_t centre)
{
    for (size_t i = 0; i < count; i++) {
        bool behind = items[i].step <= centre;
        const struct thinning_item *further = NULL;
        if (behind && i > 0)
            further = &items[i - 1];
        if (!behind && i + 1 < count)
            further = &items[i + 1];
        items[i].keep = !further || digits(distance(further->step, centre)) !=
                                        digits(distance(items[i].step, centre));
    }
}

/* The last few at or behind the job, from which it resumes. */
static void keep_near(struct thinning_item *items, size_t count, uint64_t centre)
{
    size_t behind = 0;
    while (behind < count && items[behind].step <= centre)
        behind++;
    for (size_t i = 0; i < THINNING_NEAR && i < behind; i++)
        items[behind - 1 - i].keep = true;
}

/* Returns `count` when nothing is kept. */
static size_t furthest_kept(const struct thinning_item *items, size_t count, uint64_t centre)
{
    size_t best = count;
    for (size_t i = 0; i < count; i++)
        if (items[i].keep &&
            (best == count || distance(items[i].step, centre) > distance(items[best].step, centre)))
            best = i;
    return best;
}

static void keep_to_bytes(struct thinning_item *items, size_t count, uint64_t centre)
{
    uint64_t bytes = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += items[i].keep ? items[i].bytes : 0;
        kept += items[i].keep;
    }
    for (; kept > THINNING_NEAR && bytes > THINNING_MOST_BYTES; kept--) {
        struct thinning_item *dropped = &items[furthest_kept(items, count, centre)];
        dropped->keep = false;
        bytes -= dropped->bytes;
    }
}

void thinning_choose(struct thinning_item *items, size_t count, uint64_t centre)
{
    keep_one_a_doubling(items, count, centre);
    keep_near(items, count, centre);
    keep_to_bytes(items, count, centre);
}
