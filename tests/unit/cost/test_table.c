#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cost/cost.h"
#include "sample_table.h"
#include "support/temp_dir.h"

static struct cost_table table_of(const char *text, uint32_t tp, uint32_t cp)
{
    struct cost_table table;
    struct error err = { 0 };
    int code = cost_table_parse("t.csv", text, strlen(text), tp, cp, &table, &err);
    cr_assert_eq(code, 0, "%s", err.text);
    return table;
}

static struct cost_model model_of(const struct cost_table *table)
{
    struct cost_options options = { .measured = *table };
    struct cost_model model;
    struct error err = { 0 };
    cr_assert_eq(cost_model_init(&model, &options, &err), 0, "%s", err.text);
    return model;
}

Test(cost_table, says_what_was_measured)
{
    struct cost_table table = table_of(SAMPLE_TABLE, 2, 1);
    struct cost_model model = model_of(&table);
    cr_expect_eq(cost_attention(&model, 1024), 10000000);
    cr_expect_eq(cost_attention(&model, 2048), 30000000);
    cr_expect_eq(cost_attention(&model, 4096), 100000000);
    cr_expect_eq(cost_linear(&model, 1), 20000);
    cr_expect_eq(cost_piece(&model, 1024), 10000000 + 1024 * UINT64_C(20000));
    cr_expect_eq(table.longest, 4096);
    cr_expect_eq(model.cp, 1);
    cr_expect_str_eq(model.unit, "ps");
}

/* q of cp 2 is half a document. */
Test(cost_table, of_ranks_that_share_a_document)
{
    struct cost_table table = table_of(SAMPLE_TABLE, 2, 2);
    struct cost_model model = model_of(&table);
    cr_expect_eq(cost_attention(&model, 1024), 7000000);
    cr_expect_eq(cost_attention(&model, 2048), 16500000);
    cr_expect_eq(cost_linear(&model, 1), 11000);
    cr_expect_eq(model.cp, 2);
}

Test(cost_table, without_rows_of_its_cp_counts_all_ranks_together)
{
    struct cost_table table = table_of(SAMPLE_TABLE, 2, 4);
    cr_expect_eq(table.cp, 1);
    cr_expect_eq(table.linear, 20000);
}

Test(cost_table, reports_where_attention_costs_as_much_as_the_rest)
{
    struct cost_table table = table_of(SAMPLE_TABLE, 2, 1);
    struct cost_model model = model_of(&table);
    double b = model.crossover_tokens;
    cr_assert(b > 2048 && b < 4096, "%f", b);
    uint32_t below = (uint32_t)b, above = below + 1;
    cr_expect_leq(cost_attention(&model, below), cost_linear(&model, below));
    cr_expect_geq(cost_attention(&model, above), cost_linear(&model, above));
}

Test(cost_table, crossover_may_lie_beyond_or_nowhere)
{
    const char *beyond = SAMPLE_HEAD "attention,1,1,1000,1000,1\nattention,1,1,2000,2000,3\n"
                                     "linear,1,1,1000,0,4\n";
    struct cost_table table = table_of(beyond, 1, 1);
    struct cost_model model = model_of(&table);
    /* 1 us a 1000 tokens at 1000, 1.5 at 2000, so 4 at 7000 */
    cr_expect_float_eq(model.crossover_tokens, 7000, 0.1);
    const char *nowhere = SAMPLE_HEAD "attention,1,1,1000,1000,3\nattention,1,1,2000,2000,3\n"
                                      "linear,1,1,1000,0,4\n";
    table = table_of(nowhere, 1, 1);
    model = model_of(&table);
    cr_expect_float_eq(model.crossover_tokens, 0x1p40, 0.1);
}

Test(cost_table, order_comments_blanks_and_line_ends_do_not_matter)
{
    const char *text = SAMPLE_FIRST "\r\n# unit: ms\r\n#device:x\n# kernel: a, b: c\n# dtype: d\n"
                                    "# heads: 1\n#   head_dim: 2\n# note: free\n" SAMPLE_COLUMNS
                                    "attention , 1,1, 9,9, 2e0\n# unit: x\n\nlinear,1,1,4,0,1\n"
                                    "attention,1,1,3,3,.5";
    struct cost_table table = table_of(text, 1, 1);
    struct cost_model model = model_of(&table);
    cr_expect_eq(cost_attention(&model, 3), 500000000);
    cr_expect_eq(cost_attention(&model, 9), 2000000000);
    cr_expect_eq(cost_linear(&model, 1), 250000000);
}

struct refusal {
    const char *text, *error;
};

#define ROWS(rows) SAMPLE_HEAD rows
#define COLUMNS "op,tp,cp,q,kv,latency"

static void check_all(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cost_table table;
        struct error err = { 0 };
        const char *text = refusals[i].text;
        int code = cost_table_parse("t.csv", text, strlen(text), 2, 2, &table, &err);
        cr_expect_eq(code, EX_CONFIG, "%s", text);
        cr_expect_str_eq(err.text, refusals[i].error, "%s\nfound:    %s\nexpected: %s", text,
                         err.text, refusals[i].error);
    }
}

#define CHECK(refusals) check_all(refusals, sizeof(refusals) / sizeof *(refusals))

Test(cost_table, refuses_heads)
{
    static const struct refusal refusals[] = {
        { "", "t.csv:1: line: found \"\", expected # ballast cost table 1" },
        { "op,tp\n", "t.csv:1: line: found \"op,tp\", expected # ballast cost table 1" },
        { SAMPLE_FIRST, "t.csv:1: columns: found \"the end of the file\", expected " COLUMNS },
        { SAMPLE_FIRST SAMPLE_KEYS "op,tp,cp\n",
          "t.csv:8: columns: found \"op,tp,cp\", expected " COLUMNS },
        { SAMPLE_FIRST SAMPLE_COLUMNS,
          "t.csv:2: device: found none, expected a comment '# device: ...' above the names of the "
          "columns" },
        { SAMPLE_FIRST "# unit: s\n", "t.csv:2: unit: found \"s\", expected ns, us or ms" },
        { SAMPLE_FIRST "# heads: 0\n",
          "t.csv:2: heads: found \"0\", expected a whole number from 1 to 65536" },
        { SAMPLE_FIRST "# kernel:\n", "t.csv:2: kernel: found \"\", expected what was measured" },
        { SAMPLE_FIRST "# unit: us\n# unit: us\n",
          "t.csv:3: unit: found \"us\", expected it once, found it twice" },
    };
    CHECK(refusals);
}

Test(cost_table, refuses_rows)
{
    static const struct refusal refusals[] = {
        { ROWS("attention,2,2\n"), "t.csv:9: q: found \"3 fields\", expected 6: " COLUMNS },
        { ROWS("attention,2,2,1,1,1,1\n"),
          "t.csv:9: row: found \"7 fields\", expected 6: " COLUMNS },
        { ROWS("Attention,2,2,1,1,1\n"),
          "t.csv:9: op: found \"Attention\", expected attention or linear" },
        { ROWS("linear,0,2,1,0,1\n"),
          "t.csv:9: tp: found \"0\", expected a whole number from 1 to 65536" },
        { ROWS("linear,2,-1,1,0,1\n"),
          "t.csv:9: cp: found \"-1\", expected a whole number from 1 to 65536" },
        { ROWS("linear,2,2,134217729,0,1\n"),
          "t.csv:9: q: found \"134217729\", expected a whole number from 1 to 134217728" },
        { ROWS("linear,2,2,18446744073709551617,0,1\n"),
          "t.csv:9: q: found \"18446744073709551617\", expected a whole number from 1 to "
          "134217728" },
        { ROWS("linear,2,2,5,5,1\n"), "t.csv:9: kv: found \"5\", expected 0 for linear" },
        { ROWS("attention,2,1,5,6,1\n"),
          "t.csv:9: kv: found \"6\", expected 5, as q, where cp is 1" },
        { ROWS("attention,2,2,5,11,1\n"), "t.csv:9: kv: found \"11\", expected 5 to 10" },
        { ROWS("linear,2,2,5,0,\n"),
          "t.csv:9: latency: found \"\", expected a decimal number, between 1 ps and 18 minutes" },
        { ROWS("linear,2,2,5,0,nan\n"), "t.csv:9: latency: found \"nan\", expected a decimal "
                                        "number, between 1 ps and 18 minutes" },
        { ROWS("linear,2,2,5,0,-1\n"), "t.csv:9: latency: found \"-1\", expected a decimal number, "
                                       "between 1 ps and 18 minutes" },
        { ROWS("linear,2,2,5,0,0\n"), "t.csv:9: latency: found \"0\", expected a decimal number, "
                                      "between 1 ps and 18 minutes" },
        { ROWS("linear,2,2,5,0,1e999\n"), "t.csv:9: latency: found \"1e999\", expected a decimal "
                                          "number, between 1 ps and 18 minutes" },
        { ROWS("linear,2,2,5,0,0x1\n"), "t.csv:9: latency: found \"0x1\", expected a decimal "
                                        "number, between 1 ps and 18 minutes" },
        { ROWS("linear,2,2,5,0,1 2\n"), "t.csv:9: latency: found \"1 2\", expected a decimal "
                                        "number, between 1 ps and 18 minutes" },
        { ROWS("lin\x1b[2J\xff,2,2,5,0,1\n"),
          "t.csv:9: op: found \"lin?[2J?\", expected attention or linear" },
    };
    CHECK(refusals);
}

Test(cost_table, refuses_what_rows_say_together)
{
    static const struct refusal refusals[] = {
        { ROWS("linear,2,2,5,0,1\nlinear,2,2,6,0,1\n"),
          "t.csv:10: q: found 6, expected one linear row for tp 2 and cp 2: line 9 is another" },
        { ROWS("attention,2,2,5,5,1\nattention,2,2,5,6,1\n"),
          "t.csv:10: q: found 5, expected one attention row of each length for tp 2 and cp 2 only: "
          "line 9 is another" },
        { ROWS("attention,2,2,5,5,1.5\nattention,2,2,6,6,1\n"),
          "t.csv:10: latency: found 1 us for q 6, expected at least the 1.5 us of q 5 in line 9: "
          "measure again, or leave one of the two out" },
        { ROWS(""), "t.csv: attention: found no row for tp 2 and cp 2 or 1, expected two or more; "
                    "tp x cp are: none" },
        { ROWS("attention,4,1,5,5,1\nattention,4,1,6,6,2\nattention,8,2,6,6,2\n"),
          "t.csv: attention: found no row for tp 2 and cp 2 or 1, expected two or more; tp x cp "
          "are: 4 x 1, 8 x 2" },
        { ROWS("attention,2,1,5,5,1\nattention,2,1,6,6,2\nlinear,4,1,6,0,2\n"),
          "t.csv: linear: found no row for tp 2 and cp 2 or 1, expected one; tp x cp are: 4 x 1" },
        { ROWS("attention,2,2,5,5,1\nlinear,2,2,6,0,2\n"),
          "t.csv:9: attention: found the only row for tp 2 and cp 2, expected two or more "
          "lengths" },
        { ROWS("attention,2,2,5,5,1\nattention,2,2,6,6,1e9\nlinear,2,2,6,0,2\n"),
          "t.csv: latency rises by more than 2 ms a token between 10 and 12 tokens: check the "
          "unit" },
        { ROWS("attention,2,2,5,5,1\nattention,2,2,6,6,1\nlinear,2,2,6,0,1e8\n"),
          "t.csv:11: latency: found 1e+08 us for 12 tokens, expected 1 ps to 69 ms a token: check "
          "the unit" },
    };
    CHECK(refusals);
}

Test(cost_table, refuses_too_many_points_and_long_lines)
{
    char text[8192] = SAMPLE_HEAD;
    for (int i = 1; i <= COST_MAX_POINTS + 1; i++)
        snprintf(text + strlen(text), 64, "attention,2,2,%d,%d,%d\n", i, i, i);
    strcat(text, "linear,2,2,1,0,1\n");
    struct cost_table table;
    struct error err = { 0 };
    cr_expect_eq(cost_table_parse("t.csv", text, strlen(text), 2, 2, &table, &err), EX_CONFIG);
    cr_expect(strstr(err.text, "found 64 rows for tp 2 and cp 2, expected at most 63"), "%s",
              err.text);
    memset(text, ' ', 300);
    text[300] = 0;
    cr_expect_eq(cost_table_parse("t.csv", text, 300, 2, 2, &table, &err), EX_CONFIG);
    cr_expect_str_eq(err.text, "t.csv:1: line: found 300 bytes, expected at most 255");
    cr_expect_eq(cost_table_parse("t.csv", "a\0b", 3, 2, 2, &table, &err), EX_CONFIG);
    cr_expect_str_eq(err.text, "t.csv:1: line: found a NUL byte, expected text");
}

static int load(const struct temp_dir *dir, const char *name, struct error *err)
{
    char path[TEMP_PATH_BYTES];
    struct cost_table table;
    return cost_table_load(temp_path(dir, name, path), 2, 1, &table, err);
}

Test(cost_table, loads_regular_files_of_bounded_size)
{
    struct temp_dir dir = temp_dir_make();
    struct error err = { 0 };
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "good.csv", path), SAMPLE_TABLE, strlen(SAMPLE_TABLE));
    cr_expect_eq(load(&dir, "good.csv", &err), 0, "%s", err.text);
    cr_expect_eq(load(&dir, "absent.csv", &err), EX_CONFIG);
    cr_expect(strstr(err.text, "absent.csv: cannot read the cost table: No such file"), "%s",
              err.text);
    cr_expect_eq(load(&dir, ".", &err), EX_CONFIG);
    cr_expect(strstr(err.text, "is no regular file"), "%s", err.text);
    cr_assert_eq(mkfifo(temp_path(&dir, "pipe", path), 0600), 0);
    cr_expect_eq(load(&dir, "pipe", &err), EX_CONFIG);
    cr_expect(strstr(err.text, "is no regular file"), "%s", err.text);
    char *large = calloc(COST_TABLE_MAX_BYTES + 1, 1);
    cr_assert(large);
    file_write(temp_path(&dir, "large", path), large, COST_TABLE_MAX_BYTES + 1);
    free(large);
    cr_expect_eq(load(&dir, "large", &err), EX_CONFIG);
    cr_expect(strstr(err.text, "found more than 1048576 bytes"), "%s", err.text);
    temp_dir_remove(&dir);
}
