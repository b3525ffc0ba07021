#include "pack/policies.h"

#include <string.h>

const struct pack_policy *const pack_policies[] = {
    &pack_plain,
    &pack_fixed_greedy,
    &pack_wlb,
    NULL,
};

const struct pack_policy *pack_policy_find(const char *name)
{
    for (size_t i = 0; pack_policies[i]; i++)
        if (strcmp(pack_policies[i]->name, name) == 0)
            return pack_policies[i];
    return NULL;
}
