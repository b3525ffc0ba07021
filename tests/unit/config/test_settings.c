/* Settings: what may change while a job lives, as text and back. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"

#define START                                                                                      \
    "job: j\nseed: 1\nvocab_size: 100\ncontext_window: 64\ncost: { crossover_tokens: 99 }\n"

static struct config *parse(const char *text)
{
    struct config *config = NULL;
    struct error err = { 0 };
    cr_assert_eq(config_parse("test", text, strlen(text), NULL, 0, &config, &err), 0, "%s",
                 err.text);
    return config;
}

static const char *const yaml[] = {
    START "sources: [{ name: a, format: lengths, paths: [x], weight: 0.25 },\n"
          " { name: b.c, format: lengths, paths: [y] }]\n",
    START "sources: [{ name: a, format: lengths, paths: [z], weight: 2 },\n"
          " { name: b.c, format: lengths, paths: [z] }]\nparallel: { dp: 2, pp: 4, cp: 8 }\n"
          "packing: { policy: wlb, outlier_thresholds: auto }\nlong_documents: drop\n"
          "max_sequence_length: 100\nsharding: { strategy: hybrid }\n",
    "job: j\nseed: 1\nvocab_size: 100\ncontext_window: 64\npacking: { policy: adaptive }\n"
    "cost: { model: { layers: 2, hidden: 8, heads: 2, ffn: 9, vocab: 100, tflops: 0.5 } }\n"
    "sources: [{ name: a, format: lengths, paths: [z] }, { name: b.c, format: lengths, paths: [y] "
    "}]\n",
};

static char *plan_text(const struct config *config)
{
    char *text;
    cr_assert_eq(config_plan_text(config, &text, NULL), 0);
    return text;
}

Test(settings, of_one_configuration_make_another_like_it)
{
    for (int from = 0; from < 3; from++) {
        for (int to = 0; to < 3; to++) {
            struct config *a = parse(yaml[from]), *b = parse(yaml[to]), *changed;
            struct error err = { 0 };
            char *settings;
            cr_assert_eq(config_settings(b, &settings, &err), 0, "%s", err.text);
            cr_assert_eq(config_with_settings(a, settings, &changed, &err), 0, "%s", err.text);
            char *expected = plan_text(b), *found = plan_text(changed);
            cr_expect_str_eq(found, expected);
            cr_assert_str_eq(changed->sources[0].paths[0], a->sources[0].paths[0]);
            free(expected);
            free(found);
            free(settings);
            config_free(a);
            config_free(b);
            config_free(changed);
        }
    }
}

Test(settings, are_lines_of_keys_and_values)
{
    struct config *config = parse(yaml[0]);
    char *settings;
    cr_assert_eq(config_settings(config, &settings, NULL), 0);
    cr_assert(strstr(settings, "parallel={\"dp\": \"1\", \"pp\": \"1\", "), "%s", settings);
    cr_assert(strstr(settings, "\ncontext_window=\"64\"\n"), "%s", settings);
    cr_assert(strstr(settings, "\nsources.a.weight=\"0.25\"\nsources.b.c.weight=\"1\"\n"), "%s",
              settings);
    free(settings);
    config_free(config);
}

Test(settings, that_do_not_fit_are_refused)
{
    static const char *const bad[] = {
        "dp", "dp=2", "x=1\n", "context_window=0\n", "sources.z.weight=1\n", "cost={}\n"
    };
    struct config *config = parse(yaml[0]), *changed = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error err = { 0 };
        cr_assert_eq(config_with_settings(config, bad[i], &changed, &err), EX_CONFIG, "%s", bad[i]);
        cr_assert(err.text[0]);
        cr_assert_null(changed);
    }
    config_free(config);
}

Test(settings, what_orders_documents_cannot_change)
{
    static const struct {
        const char *was, *now, *named;
    } cases[] = {
        { "job: j", "job: k", "job differs" },
        { "seed: 1", "seed: 2", "seed differs" },
        { "vocab_size: 100", "vocab_size: 101", "vocab_size differs" },
        { "name: a", "name: z", "source z differs" },
        { "weight: 0.25", "epochs: 3", "epochs of source a" },
        { "{ name: b.c, format: lengths, paths: [y] }", "", "number of sources" },
    };
    struct config *config = parse(yaml[0]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        const char *at = strstr(yaml[0], cases[i].was);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - yaml[0]), yaml[0], cases[i].now,
                 at + strlen(cases[i].was));
        struct config *changed = parse(text);
        struct error err = { 0 };
        cr_assert_eq(config_check_successor(config, changed, &err), EX_CONFIG);
        cr_assert(strstr(err.text, cases[i].named), "%s", err.text);
        config_free(changed);
    }
    struct config *changed = parse(yaml[1]);
    cr_assert_eq(config_check_successor(config, changed, NULL), 0);
    cr_assert(!config_same_layout(config, changed));
    cr_assert(config_same_layout(config, config));
    config_free(changed);
    config_free(config);
}
