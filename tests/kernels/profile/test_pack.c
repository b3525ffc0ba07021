#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "kernels/profile/lengths.h"
#include "kernels/profile/pack.h"
#include "support/temp_dir.h"

Test(profile_pack, rows_are_the_last_of_their_piece)
{
    struct profile_pack pack = { 0 };
    cr_assert(profile_pack_add_rows(&pack, 128, 16) && profile_pack_add_rows(&pack, 64, 64));
    cr_assert(pack.pieces == 2 && pack.chunk_count == 2 && profile_pack_tokens(&pack) == 192);
    cr_expect(pack.cu_seqlens[0] == 0 && pack.cu_seqlens[1] == 128);
    cr_expect(pack.chunks[0].piece == 0 && pack.chunks[0].start == 112 &&
              pack.chunks[0].length == 16);
    cr_expect(pack.chunks[1].piece == 1 && pack.chunks[1].start == 0 &&
              pack.chunks[1].length == 64);
    profile_pack_fini(&pack);
}

/* Counts, for each token, the ranks that have it. */
static void count_owners(uint32_t length, uint32_t cp, uint8_t *owners, uint32_t *totals)
{
    for (uint32_t rank = 0; rank < cp; rank++) {
        struct profile_pack pack = { 0 };
        uint32_t dealer = 0;
        cr_assert(profile_pack_add_share(&pack, length, cp, rank, &dealer));
        cr_assert_eq(dealer, length % (2 * cp) % cp);
        for (uint32_t c = 0; c < pack.chunk_count; c++) {
            cr_assert(!c ||
                      pack.chunks[c].start > pack.chunks[c - 1].start + pack.chunks[c - 1].length);
            totals[rank] += pack.chunks[c].length;
            for (uint32_t t = 0; t < pack.chunks[c].length; t++)
                owners[pack.chunks[c].start + t]++;
        }
        profile_pack_fini(&pack);
    }
}

Test(profile_pack, shares_are_the_whole_and_even)
{
    for (uint32_t cp = 1; cp <= 8; cp *= 2) {
        for (uint32_t length = 1; length <= 70; length++) {
            uint8_t owners[70] = { 0 };
            uint32_t totals[8] = { 0 };
            count_owners(length, cp, owners, totals);
            for (uint32_t t = 0; t < length; t++)
                cr_assert_eq(owners[t], 1, "cp %u length %u token %u", cp, length, t);
            for (uint32_t rank = 1; rank < cp; rank++)
                cr_assert_leq(abs((int)(totals[rank] - totals[0])), 1);
        }
    }
}

Test(profile_pack, packs_fill_their_window_from_a_file_of_lengths)
{
    struct temp_dir dir = temp_dir_make();
    char path[TEMP_PATH_BYTES];
    temp_path(&dir, "lengths.txt", path);
    FILE *file = fopen(path, "w");
    fputs("100\n0\n50\n30\n", file);
    fclose(file);
    struct profile_lengths lengths = { 0 };
    struct profile_pack pack = { 0 };
    ballast_attention_error error = { "" };
    size_t position = 0;
    cr_assert_eq(profile_lengths_read(path, &lengths, &error), 0, "%s", error.text);
    cr_assert_eq(lengths.count, 4);
    cr_assert_eq(profile_lengths_pack(&lengths, &position, 300, 1, 0, &pack, &error), 0);
    const uint32_t expected[] = { 0, 100, 150, 180, 280, 300 };
    cr_assert_eq(pack.pieces, 5);
    cr_expect_arr_eq(pack.cu_seqlens, expected, sizeof expected);
    cr_expect_eq(position, 3);
    profile_pack_fini(&pack);
    profile_lengths_fini(&lengths);
    temp_dir_remove(&dir);
}

static void expect_refused(const char *path, const char *text, int status, const char *said)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    struct profile_lengths lengths = { 0 };
    ballast_attention_error error = { "" };
    cr_expect_eq(profile_lengths_read(path, &lengths, &error), status);
    cr_expect(strstr(error.text, said), "%s", error.text);
    profile_lengths_fini(&lengths);
}

Test(profile_pack, bad_lengths_are_named)
{
    struct temp_dir dir = temp_dir_make();
    char path[TEMP_PATH_BYTES];
    temp_path(&dir, "lengths.txt", path);
    expect_refused(path, "12\n-3\n", EX_DATAERR, ":2: found '-3'");
    expect_refused(path, "12\n999999999999\n", EX_DATAERR, ":2: found '999999999999'");
    expect_refused(path, "0\n0\n", EX_DATAERR, "found no token");
    struct profile_lengths lengths = { 0 };
    ballast_attention_error error = { "" };
    cr_expect_eq(profile_lengths_read(dir.path, &lengths, &error), EX_NOINPUT);
    profile_lengths_fini(&lengths);
    temp_dir_remove(&dir);
}
