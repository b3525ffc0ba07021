#include "cp/strategies.h"

struct deal deal_tokens(uint64_t tokens, uint32_t ranks, uint32_t turn)
{
    uint32_t slots = 2 * ranks;
    return (struct deal){ .share = tokens / slots,
                          .slots = slots,
                          .turn = turn,
                          .remainder = (uint32_t)(tokens % slots) };
}

/* Members of [from, to) below `limit`. */
static uint32_t below(uint32_t from, uint32_t to, uint32_t limit)
{
    if (limit <= from)
        return 0;
    return (limit < to ? limit : to) - from;
}

uint64_t deal_start(const struct deal *deal, uint32_t slot)
{
    uint32_t end = deal->turn + deal->remainder; /* the slots that got one more, unwrapped */
    uint32_t extra = end <= deal->slots
                         ? below(deal->turn, end, slot)
                         : below(deal->turn, deal->slots, slot) + below(0, end - deal->slots, slot);
    return deal->share * slot + extra;
}

uint32_t deal_next_turn(const struct deal *deal)
{
    return (deal->turn + deal->remainder) % deal->slots;
}
