#include "kernels/emulation/async_copy.h"

#include "kernels/emulation/access.h"
#include "kernels/emulation/block.h"
#include <cstring>

namespace emulation
{

static constexpr size_t copy_bytes = 16;

static void bring(const pending_copy &copy)
{
    if (copy.from != nullptr)
        std::memcpy(copy.to, copy.from, copy_bytes);
    else
        std::memset(copy.to, 0, copy_bytes);
}

void copy_async_16(void *shared, const void *global, bool valid, const where &at)
{
    block &b = *running.block;
    if (!inside_shared(shared, copy_bytes, at))
        return;
    if (valid && !note_global_read(global, copy_bytes, at))
        return;
    b.this_lane().accesses.push_back({ shared_offset(shared), copy_bytes, at });
    b.shared_words.write_begins(shared_offset(shared), copy_bytes, b.as_lane(), at);
    bool early = b.options.landing == EMULATION_EARLY ||
                 (b.options.landing == EMULATION_MIXED && b.below(2) == 0);
    pending_copy copy{ static_cast<uint8_t *>(shared), valid ? global : nullptr, early, at };
    if (early)
        bring(copy);
    b.this_lane().copies.add(copy);
}

void copy_async_commit()
{
    running.block->this_lane().copies.commit();
}

void copy_async_wait(int groups, const where &)
{
    block &b = *running.block;
    accessor who = b.as_lane();
    stamp now = make_stamp(who.warp, who.knows->of[who.warp]);
    b.this_lane().copies.land(static_cast<size_t>(groups), [&](const pending_copy &copy) {
        if (!copy.landed)
            bring(copy);
        b.shared_words.write_ends(shared_offset(copy.to), copy_bytes, now, who, copy.at);
    });
}

} // namespace emulation
