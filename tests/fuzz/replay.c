/*
 * Runs a fuzz target without libFuzzer, so that every compiler can: `replay [-m N] PATH...` gives
 * it every file, and every file of every directory, named; then N random changes of each, always
 * the same ones. Prints how many inputs ran; a crash is the only failure besides unreadable paths.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "support/temp_dir.h"

#define MOST_CHANGES 8 /* in one input */
#define MOST_GROWTH 64 /* bytes by which an input can grow */

static unsigned long mutations, inputs_run;

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % below;
}

static void run_input(const uint8_t *bytes, size_t count)
{
    LLVMFuzzerTestOneInput(bytes, count);
    inputs_run++;
}

/* Values at which arithmetic and comparisons turn. */
static uint64_t odd_value(uint64_t *state)
{
    static const uint64_t values[] = { 0,
                                       1,
                                       0x7f,
                                       0x80,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       UINT64_MAX,
                                       INT64_MAX,
                                       UINT64_C(1) << 63,
                                       UINT64_C(1) << 61 };
    return values[draw(state, sizeof values / sizeof values[0])];
}

/* One change; returns the new count, which never exceeds `room`. */
static size_t change(uint64_t *state, uint8_t *bytes, size_t count, size_t room)
{
    if (count == 0)
        return room < MOST_GROWTH ? room : draw(state, MOST_GROWTH);
    size_t at = draw(state, count), width = (size_t)1 << draw(state, 4);
    uint64_t value = odd_value(state);
    switch (draw(state, 5)) {
    case 0:
        bytes[at] ^= (uint8_t)(1u << draw(state, 8));
        return count;
    case 1:
        bytes[at] = (uint8_t)draw(state, 256);
        return count;
    case 2:
        memcpy(bytes + at, &value, count - at < width ? count - at : width);
        return count;
    case 3:
        return at;
    default:
        at = draw(state, MOST_GROWTH);
        return count + at < room ? count + at : room;
    }
}

static void run_changed(const uint8_t *bytes, size_t count)
{
    size_t room = count + MOST_GROWTH;
    for (unsigned long i = 0; i < mutations; i++) {
        /* Room of exactly the input's size, so that an address sanitizer sees a read beyond it. */
        uint8_t *scratch = calloc(room, 1);
        if (!scratch)
            abort();
        memcpy(scratch, bytes, count);
        uint64_t state = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        size_t changed = count;
        for (uint64_t left = draw(&state, MOST_CHANGES) + 1; left > 0; left--)
            changed = change(&state, scratch, changed, room);
        uint8_t *exact = realloc(scratch, changed ? changed : 1);
        if (!exact)
            abort();
        run_input(exact, changed);
        free(exact);
    }
}

static int run_file(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts;
    (void)where;
    if (kind != FTW_F)
        return 0;
    size_t count;
    unsigned char *bytes = file_read_all(path, &count);
    run_input(bytes, count);
    run_changed(bytes, count);
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "m:")) != -1) {
        if (option != 'm')
            return 2;
        mutations = strtoul(optarg, NULL, 10);
    }
    for (int i = optind; i < argc; i++) {
        if (nftw(argv[i], run_file, 16, FTW_PHYS)) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
    }
    printf("%lu inputs\n", inputs_run);
    return inputs_run > 0 ? 0 : 1;
}
