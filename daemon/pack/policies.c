#include "pack/policies.h"

#include <string.h>

const struct pack_policy *const pack_policies[] = {
    &pack_plain, /* the order of help texts */
    &pack_fixed_greedy,
#ifdef BALLAST_SOLVER
    &pack_fixed_solver,
#endif
    &pack_wlb, /* the default */
    &pack_adaptive,     NULL,
};

const struct pack_policy *pack_policy_find(const char *name)
{
    for (size_t i = 0; pack_policies[i]; i++)
        if (strcmp(pack_policies[i]->name, name) == 0)
            return pack_policies[i];
    return NULL;
}

const char *pack_policy_lacks(const char *name)
{
    bool optional = strcmp(name, "fixed-solver") == 0;
    return optional && !pack_policy_find(name) ? "libglpk-dev" : NULL;
}
