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

static const struct whole_step *find(const struct whole_steps *whole, uint64_t step)
{
    for (unsigned i = 0; i < WHOLE_STEPS_KNOWN; i++)
        if (whole->steps[i].seen && whole->steps[i].step == step)
            return &whole->steps[i];
    return NULL;
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
    struct whole_step *one = (struct whole_step *)(uintptr_t)find(whole, step);
    if (!one)
        one = begin(whole, step, shares);
    if (!one || one->seen[share])
        return;
    one->seen[share] = true;
    one->missing--;
}

bool whole_steps_saw(const struct whole_steps *whole, uint64_t step, size_t share)
{
    const struct whole_step *one = find(whole, step);
    return one && one->seen[share];
}

bool whole_steps_has(const struct whole_steps *whole, uint64_t step)
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
