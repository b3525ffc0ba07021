/* What the profiler writes is what the daemon reads. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/table.h"
#include "kernels/profile/table.h"

#define LINEAR_TOKENS 4096

static const struct profile_table_head head = {
    .device = "Some GPU\nwith a line, and what looks like a key: unit: ms",
    .kernel = "ballast 0.1.0",
    .dtype = "bf16",
    .heads = 32,
    .head_dim = 128,
    .layers = 32,
    .training = true,
    .emulated = true,
    .linear = "cuBLAS",
};

/* The text of a table; free() it. */
static char *write_table(const struct profile_document *documents, size_t count,
                         size_t *ret_changed)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct profile_fit fit = { 5, 0.01, 0.0004 };
    struct profile_fit_error error = { 0.02, 0.07, 90 };
    profile_table_write_head(out, &head);
    profile_table_write_fit(out, "forward", &fit, &error, &error);
    profile_table_write_columns(out);
    *ret_changed = profile_table_write_attention(out, 8, 1, documents, count);
    *ret_changed += profile_table_write_attention(out, 8, 2, documents, count);
    profile_table_write_linear(out, 8, 1, LINEAR_TOKENS, 512.25);
    profile_table_write_linear(out, 8, 2, LINEAR_TOKENS, 512.25);
    cr_assert_eq(fclose(out), 0);
    return text;
}

static struct cost_table read_table(const char *text, uint32_t cp)
{
    struct cost_table table = { 0 };
    struct error err = { 0 };
    cr_assert_eq(cost_table_parse("table", text, strlen(text), 8, cp, &table, &err), 0, "%s\n%s",
                 err.text, text);
    return table;
}

Test(profile_table, the_daemon_reads_what_was_measured)
{
    const struct profile_document documents[] = { { 128, 128, 0.5 },
                                                  { 256, 256, 1.25 },
                                                  { 512, 512, 4 } };
    size_t changed;
    char *text = write_table(documents, 3, &changed);
    struct cost_table table = read_table(text, 1);
    cr_expect_eq(changed, 0);
    cr_expect_eq(table.longest, 512);
    for (int i = 0; i < 3; i++)
        cr_expect_eq((uint64_t)cost_curve_at(&table.attention, documents[i].q),
                     (uint64_t)(documents[i].us * 1e6));
    cr_expect_eq(table.linear, 125061, "512.25 us over 4096 tokens, in ps");
    table = read_table(text, 2);
    cr_expect(table.cp == 2 && table.longest == 1024);
    free(text);
}

/* Noise makes short documents dearer than longer ones, or cheaper than the launch taken off. */
Test(profile_table, noise_is_lifted_or_left_out)
{
    const struct profile_document documents[] = {
        { 32, 32, -0.1 }, { 64, 64, 0 }, { 128, 128, 0.5 }, { 256, 256, 0.4 }, { 512, 512, 2 }
    };
    size_t changed;
    char *text = write_table(documents, 5, &changed);
    struct cost_table table = read_table(text, 1);
    cr_expect_eq(changed, 6, "three for each cp");
    cr_expect_eq((uint64_t)cost_curve_at(&table.attention, 256), 500000);
    cr_expect_null(strstr(text, "attention,8,1,64,"));
    free(text);
}

Test(profile_table, says_what_it_is)
{
    size_t changed;
    const struct profile_document documents[] = { { 128, 128, 0.5 }, { 256, 256, 1 } };
    char *text = write_table(documents, 2, &changed);
    cr_expect_not_null(strstr(text, "\n# EMULATED on the CPU"));
    cr_expect_not_null(strstr(text, "\n# device: Some GPU?with a line"));
    cr_expect_not_null(strstr(text, "\n# kernel: ballast 0.1.0\n"));
    cr_expect_not_null(strstr(text, "off: 2.0 % on average and 7.0 % at most on 90 cells, 2.0 %"));
    free(text);
}

Test(profile_table, grid_counts_operations_as_everyone_does)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    const struct profile_cell cell = { .tp = 1,
                                       .q = 128,
                                       .kv = 1024,
                                       .copies = 8,
                                       .waves = 4.25,
                                       .pairs = 1000000,
                                       .forward = { 64, 512, 128 },
                                       .backward = { 128, 1024, 320 } };
    const struct profile_fits fits = { { 0, 1, 0.125 }, { 0, 1, 0.25 } };
    profile_grid_write(out, &cell, 128, &fits);
    fclose(out);
    cr_expect_str_eq(text, "forward,1,128,1024,8,4.2,64,512,128.000,4.00,128.000\n"
                           "backward,1,128,1024,8,4.2,128,1024,320.000,4.00,384.000\n");
    free(text);
}
