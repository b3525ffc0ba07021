/* The policies, one file each; pack/policies.c lists them. */
#ifndef BALLAST_PACK_POLICIES_H
#define BALLAST_PACK_POLICIES_H

#include "pack/pack.h"

extern const struct pack_policy pack_adaptive;     /* adaptive.c */
extern const struct pack_policy pack_plain;        /* plain.c */
extern const struct pack_policy pack_fixed_greedy; /* fixed_greedy.c */
extern const struct pack_policy pack_fixed_solver; /* fixed_solver.c, where a solver is */
extern const struct pack_policy pack_wlb;          /* wlb.c */

#endif
