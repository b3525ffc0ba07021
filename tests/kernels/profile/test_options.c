#include <criterion/criterion.h>
#include <string.h>
#include <sysexits.h>

#include "kernels/profile/options.h"

#define MODEL                                                                                      \
    "--layers", "32", "--hidden", "4096", "--heads", "32", "--kv-heads", "8", "--ffn", "14336",    \
        "--vocab", "128256"

static int parse(const char *const words[], struct profile_options *options,
                 ballast_attention_error *error)
{
    char *argv[64] = { "ballast-profile" };
    int argc = 1;
    for (int i = 0; words[i]; i++)
        argv[argc++] = (char *)words[i];
    return profile_options_parse(argc, argv, options, error);
}

Test(profile_options, a_model_is_enough)
{
    struct profile_options options;
    ballast_attention_error error = { "" };
    cr_assert_eq(parse((const char *[]){ MODEL, NULL }, &options, &error), 0, "%s", error.text);
    cr_expect_eq(options.model.head_dim, 128);
    cr_expect(options.q.first == 16 && options.q.last == 4096);
    cr_expect(options.kv.first == 128 && options.kv.last == 131072);
    cr_expect(options.waves == 4 && options.repeats == 10 && options.training);
    cr_expect(options.cp.count == 4 && options.cp.items[3] == 8 && options.tp.count == 1);
}

Test(profile_options, everything_can_be_said)
{
    struct profile_options options;
    ballast_attention_error error = { "" };
    const char *const words[] = {
        MODEL,     "--head-dim", "64",        "--type",    "fp16",    "--path",   "mma",
        "--tp",    "2,8",        "--cp=1,16", "--passes",  "forward", "--tflops", "612.5",
        "--q",     "8:32",       "--kv",      "64:256",    "--waves", "1",        "--repeats",
        "3",       "--memory",   "12",        "--lengths", "l.txt",   "--window", "4096",
        "--packs", "2",          "--out",     "t.csv",     "--grid",  "g.csv",    "--linear-tokens",
        "1024",    NULL
    };
    cr_assert_eq(parse(words, &options, &error), 0, "%s", error.text);
    cr_expect(options.model.head_dim == 64 && options.type == BALLAST_ATTENTION_F16);
    cr_expect(options.path == BALLAST_ATTENTION_PATH_MMA && !options.training);
    cr_expect(options.tp.count == 2 && options.tp.items[1] == 8 && options.cp.items[1] == 16);
    cr_expect(options.tflops == 612.5 && options.q.last == 32 && options.kv.first == 64);
    cr_expect(options.waves == 1 && options.repeats == 3 && options.memory_gib == 12);
    cr_expect(options.window == 4096 && options.packs == 2 && options.linear_tokens == 1024);
    cr_expect_str_eq(options.lengths, "l.txt");
    cr_expect_str_eq(options.table, "t.csv");
    cr_expect_str_eq(options.grid, "g.csv");
}

Test(profile_options, refusals_say_what_was_found_and_expected)
{
    static const struct {
        const char *words[20];
        const char *said;
    } cases[] = {
        { { "--layers", "2", NULL }, "--hidden is missing" },
        { { MODEL, "--q", "32:16", NULL }, "--q: found '32:16', expected two lengths" },
        { { MODEL, "--kv", "16", NULL }, "--kv: found '16'" },
        { { MODEL, "--tp", "1,,2", NULL }, "--tp: found '1,,2', expected up to 16" },
        { { MODEL, "--tp", "3", NULL }, "--tp: found 3, expected a divisor of 32" },
        { { MODEL, "--cp", "0", NULL }, "--cp: found '0'" },
        { { MODEL, "--type", "fp32", NULL }, "--type: found 'fp32', expected bf16 or fp16" },
        { { MODEL, "--path", "fast", NULL }, "expected auto, mma or wgmma" },
        { { MODEL, "--passes", "both", NULL }, "expected training or forward" },
        { { MODEL, "--tflops", "-1", NULL }, "--tflops: found '-1'" },
        { { MODEL, "--repeats", "99999999999999999999", NULL }, "--repeats: found" },
        { { MODEL, "--kv-heads", "5", NULL }, "--kv-heads: found 5, expected a divisor" },
        { { MODEL, "--fast", NULL }, "--fast: unknown" },
        { { MODEL, "--out", NULL }, "--out: unknown, or without its value" },
        { { MODEL, "more", NULL }, "found 'more', expected options only" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile_options options;
        ballast_attention_error error = { "" };
        cr_expect_eq(parse(cases[i].words, &options, &error), EX_USAGE, "%s", cases[i].said);
        cr_expect(strstr(error.text, cases[i].said), "'%s' lacks '%s'", error.text, cases[i].said);
    }
}

Test(profile_options, help_and_version_need_no_model)
{
    struct profile_options options;
    ballast_attention_error error = { "" };
    cr_assert_eq(parse((const char *[]){ "--help", NULL }, &options, &error), 0);
    cr_expect_eq(options.action, PROFILE_HELP);
    cr_assert_eq(parse((const char *[]){ "--version", NULL }, &options, &error), 0);
    cr_expect_eq(options.action, PROFILE_VERSION);
}
