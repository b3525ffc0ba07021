#include <criterion/criterion.h>

#include "pack/pieces.h"

Test(pieces, first_in_first_out)
{
    struct pieces pieces = { 0 };
    uint64_t pushed = 0, popped = 0, tokens = 0;
    for (int round = 0; round < 500; round++) {
        for (int i = 0; i < 1 + round % 3; i++) {
            struct piece piece = { .document = pushed, .length = 1 + (uint32_t)(pushed % 9) };
            tokens += piece.length;
            pushed++;
            cr_assert_eq(pieces_push(&pieces, &piece, NULL), 0);
        }
        for (int i = 0; i < 1 + (round + 1) % 3 && pieces.count > 0; i++) {
            cr_assert_eq(pieces_first(&pieces)->document, popped);
            tokens -= pieces_first(&pieces)->length;
            popped++;
            pieces_drop_first(&pieces, 1);
        }
        cr_assert_eq(pieces.tokens, tokens);
        cr_assert_eq(pieces.count, pushed - popped);
    }
    cr_assert_leq(pieces.capacity, 64, "a queue that stays short stays small");
    pieces_fini(&pieces);
}

Test(pieces, cut_keeps_offsets_and_the_end)
{
    struct piece piece = {
        .document = 7, .offset = 100, .length = 50, .flags = PIECE_ENDS_DOCUMENT
    };
    struct piece rest = piece_cut(&piece, 20);
    cr_assert_eq(piece.offset, 100);
    cr_assert_eq(piece.length, 20);
    cr_assert_eq(piece.flags, 0);
    cr_assert_eq(rest.offset, 120);
    cr_assert_eq(rest.length, 30);
    cr_assert_eq(rest.flags, PIECE_ENDS_DOCUMENT);
    cr_assert_eq(rest.document, 7);
}
