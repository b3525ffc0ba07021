#include "serve/whole_steps.h"

#include <stdlib.h>

static void forget(struct whole_step *step)
{
    free(step->seen);
    *step = (struct whole_step){ .seen = NULL };
}

void whole_steps_fini(struct whole_steps *whole)
{
    whole_steps_drop_from(whole, 0);
}

static bool is_of(const struct whole_step *one, uint64_t step)
{
    return one->seen && one->step == step;
}

static struct whole_step *find(struct whole_steps *whole, uint64_t step)
{
    for (unsigned i = 0; i < WHOLE_STEPS_KNOWN && !is_of(&whole->steps[whole->latest], step); i++)
        whole->latest = (whole->latest + 1) % WHOLE_STEPS_KNOWN;
    struct whole_step *one = &whole->steps[whole->latest];
    return is_of(one, step) ? one : NULL;
}

static struct whole_step *begin(struct whole_steps *whole, uint64_t step, size_t shares)
{
    struct whole_step *one = &whole->steps[whole->next];
    forget(one);
    *one = (struct whole_step){ step, shares, calloc(shares, 1) };
    whole->next = (whole->next + 1) % WHOLE_STEPS_KNOWN;
    return one->seen ? one : NULL;
}

void whole_steps_add(struct whole_steps *whole, uint64_t step, size_t share, size_t shares)
{
    struct whole_step *one = find(whole, step);
    if (!one)
        one = begin(whole, step, shares);
    if (!one || one->seen[share])
        return;
    one->seen[share] = true;
    one->missing--;
}

bool whole_steps_saw(struct whole_steps *whole, uint64_t step, size_t share)
{
    const struct whole_step *one = find(whole, step);
    return one && one->seen[share];
}

bool whole_steps_has(struct whole_steps *whole, uint64_t step)
{
    const struct whole_step *one = find(whole, step);
    return one && one->missing == 0;
}

void whole_steps_drop_from(struct whole_steps *whole, uint64_t step)
{
    for (unsigned i = 0; i < WHOLE_STEPS_KNOWN; i++)
        if (whole->steps[i].step >= step)
            forget(&whole->steps[i]);
}
