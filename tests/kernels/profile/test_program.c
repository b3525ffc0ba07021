/*
 * ballast-profile from the command line to the daemon's cost table, in little, over the emulation,
 * whose time is what it computes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

#include "cost/table.h"
#include "support/temp_dir.h"

#define MODEL                                                                                      \
    " --layers 3 --hidden 128 --heads 2 --kv-heads 1 --head-dim 64 --ffn 256 --vocab 512 --path "  \
    "mma"
#define LITTLE                                                                                     \
    " --q 64:128 --kv 64:256 --waves 1 --repeats 1 --memory 1 --tflops 2 --linear-tokens 64"

/* Runs the program; returns its exit status. stderr goes to `errors`. */
static int run(const char *arguments, const char *errors)
{
    char command[8192];
    snprintf(command, sizeof command, "'%s'%s 2>'%s'", BALLAST_PROFILE, arguments, errors);
    int status = system(command); /* NOLINT(cert-env33-c) */
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct cost_table load(const char *path, uint32_t tp, uint32_t cp)
{
    struct cost_table table = { 0 };
    struct error err = { 0 };
    cr_assert_eq(cost_table_load(path, tp, cp, &table, &err), 0, "%s", err.text);
    return table;
}

static double latency_us(const struct cost_table *table, uint32_t tokens)
{
    return (double)cost_curve_at(&table->attention, tokens) / 1e6;
}

/* A figure behind `label` in the text. */
static double figure(const char *text, const char *label)
{
    const char *found = strstr(text, label);
    cr_assert(found, "no '%s' in:\n%s", label, text);
    return strtod(found + strlen(label), NULL);
}

Test(profile_program, writes_a_table_that_the_daemon_plans_by)
{
    struct temp_dir dir = temp_dir_make();
    char table_path[TEMP_PATH_BYTES], grid_path[TEMP_PATH_BYTES], errors[TEMP_PATH_BYTES];
    char lengths[TEMP_PATH_BYTES], arguments[4 * TEMP_PATH_BYTES];
    temp_path(&dir, "table.csv", table_path);
    temp_path(&dir, "grid.csv", grid_path);
    temp_path(&dir, "errors", errors);
    temp_path(&dir, "lengths.txt", lengths);
    FILE *file = fopen(lengths, "w");
    fputs("130\n41\n7\n300\n12\n", file);
    fclose(file);
    snprintf(arguments, sizeof arguments,
             MODEL LITTLE " --cp 1,2 --out '%s' --grid '%s' --lengths '%s' --window 400 --packs 2",
             table_path, grid_path, lengths);
    size_t bytes;
    int status = run(arguments, errors);
    char *said = (char *)file_read_all(errors, &bytes);
    cr_assert_eq(status, 0, "%d: %s", status, said);

    struct cost_table whole = load(table_path, 1, 1), half = load(table_path, 1, 2);
    cr_expect(whole.cp == 1 && half.cp == 2 && whole.longest == 256 && half.longest == 256);
    double grows = latency_us(&whole, 256) / latency_us(&whole, 64);
    cr_expect(grows > 2 && grows < 16, "256 tokens cost %g times 64", grows);
    double share = latency_us(&half, 256) / latency_us(&whole, 256);
    cr_expect(share > 0.3 && share < 1, "half of 256 tokens costs %g of the whole", share);
    /* 2 x (128 x 256 + 128 x 128 + 128 x 512 + 256 x 128) x 3 layers + 2 x 128 x 512, 3 passes */
    cr_expect_eq(whole.linear, 1523712, "1.52 us a token at 2 TFLOP/s: %llu ps",
                 (unsigned long long)whole.linear);

    char *text = (char *)file_read_all(table_path, &bytes);
    cr_expect(strstr(text, "# EMULATED on the CPU"), "a table of no GPU must say so");
    cr_expect(strstr(text, ", emulated on the CPU\n"), "the kernel too");
    /* A column of a full tile is 2 x 8 x 4 / 8 products: what the tiles count is what is done. */
    cr_expect_float_eq(figure(text, "# fit of forward, one layer: "), 1, 1e-3);
    cr_expect_float_eq(figure(text, "ns a tile + "), 8000, 1);
    cr_expect_lt(figure(text, "# fit of forward, off: "), 0.1);
    cr_expect_lt(figure(text, "# fit of backward, off: "), 10);
    cr_expect(strstr(text, " on 4 packs\n"));
    char *grid = (char *)file_read_all(grid_path, &bytes);
    cr_expect_eq(strncmp(grid, "pass,tp,q,kv,", 13), 0);
    cr_expect(strstr(grid, "\nforward,1,64,64,") && strstr(grid, "\nbackward,1,128,256,"));
    free(grid);
    free(text);
    free(said);
    temp_dir_remove(&dir);
}

Test(profile_program, the_same_twice)
{
    struct temp_dir dir = temp_dir_make();
    char paths[2][TEMP_PATH_BYTES], errors[TEMP_PATH_BYTES], arguments[4 * TEMP_PATH_BYTES];
    char *texts[2];
    size_t bytes;
    temp_path(&dir, "errors", errors);
    for (int i = 0; i < 2; i++) {
        temp_path(&dir, i ? "b" : "a", paths[i]);
        snprintf(arguments, sizeof arguments,
                 MODEL LITTLE " --passes forward --type fp16 --cp 1 --out '%s'", paths[i]);
        cr_assert_eq(run(arguments, errors), 0);
        texts[i] = (char *)file_read_all(paths[i], &bytes);
    }
    cr_expect_str_eq(texts[0], texts[1]);
    cr_expect(strstr(texts[0], "# dtype: fp16\n") && strstr(texts[0], "forward alone"));
    free(texts[0]);
    free(texts[1]);
    temp_dir_remove(&dir);
}

Test(profile_program, says_what_is_wrong)
{
    struct temp_dir dir = temp_dir_make();
    char errors[TEMP_PATH_BYTES];
    temp_path(&dir, "errors", errors);
    static const struct {
        const char *arguments;
        int status;
        const char *said;
    } cases[] = {
        { " --layers 1", EX_USAGE, "ballast-profile: --hidden is missing" },
        { MODEL " --q 16:16 --kv 64:64 --waves 1 --repeats 1 --tflops 1", EX_DATAERR,
          "do not make a fit" },
        { MODEL " --q 16:64 --kv 64:256 --waves 1 --repeats 1 --cp 1 --memory 1", EX_UNAVAILABLE,
          "give --tflops" },
        { MODEL LITTLE " --lengths /nowhere/x", EX_NOINPUT, "/nowhere/x: cannot read" },
        { MODEL LITTLE " --out /nowhere/x", EX_CANTCREAT, "/nowhere/x: cannot write" },
        { " --help", 0, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes;
        char arguments[1536];
        snprintf(arguments, sizeof arguments, "%s >/dev/null", cases[i].arguments);
        cr_expect_eq(run(arguments, errors), cases[i].status, "%s", cases[i].arguments);
        char *said = (char *)file_read_all(errors, &bytes);
        cr_expect(strstr(said, cases[i].said), "'%s' lacks '%s'", said, cases[i].said);
        free(said);
    }
    temp_dir_remove(&dir);
}
