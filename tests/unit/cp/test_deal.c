#include <criterion/criterion.h>

#include "cp/strategies.h"

/* Slot sizes by dealing the remainder one token at a time. */
static void deal_by_hand(uint64_t tokens, uint32_t slots, uint32_t turn, uint64_t *sizes)
{
    for (uint32_t i = 0; i < slots; i++)
        sizes[i] = tokens / slots;
    for (uint32_t i = 0; i < tokens % slots; i++)
        sizes[(turn + i) % slots]++;
}

Test(deal, equals_dealing_by_hand)
{
    for (uint32_t ranks = 1; ranks <= 5; ranks++)
        for (uint32_t turn = 0; turn < 2 * ranks; turn++)
            for (uint64_t tokens = 0; tokens < 50; tokens++) {
                uint64_t sizes[10], start = 0;
                deal_by_hand(tokens, 2 * ranks, turn, sizes);
                struct deal deal = deal_tokens(tokens, ranks, turn);
                for (uint32_t slot = 0; slot < 2 * ranks; slot++) {
                    cr_assert_eq(deal_start(&deal, slot), start);
                    start += sizes[slot];
                }
                cr_assert_eq(deal_start(&deal, 2 * ranks), tokens);
                cr_assert_eq(deal_next_turn(&deal), (turn + tokens) % (2 * ranks));
            }
}
