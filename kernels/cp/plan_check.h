/* Whether a plan of all ranks is one. */
#ifndef BALLAST_KERNELS_CP_PLAN_CHECK_H
#define BALLAST_KERNELS_CP_PLAN_CHECK_H

#include <ballast/attention_cp.h>

/*
 * Checks all but that every token is held: ranks, order of pieces and chunks, room for a rank's
 * tokens, and that lengths add up. OK or INVALID.
 */
ballast_attention_status plan_check(const ballast_attention_cp_plan *plan,
                                    ballast_attention_error *error);

/*
 * Into how many groups the KV heads are cut. INVALID where they cannot be, with words that say
 * which numbers could.
 */
ballast_attention_status plan_groups(const ballast_attention_layout *layout,
                                     const ballast_attention_cp_plan *plan, uint32_t *ret_groups,
                                     ballast_attention_error *error);

#endif
