/* What is refused: every kind of error as the one line that a person reads. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

struct refusal {
    const char *text, *error;
};

#define JOB "job: j\n"
#define SOURCE(members) JOB "sources:\n  - { name: a, format: lengths, paths: [x], " members " }\n"
#define REST "context_window: 4096\ncost: { crossover_tokens: 1024 }\n"
#define TOP_KEYS                                                                                   \
    "job, seed, sources, vocab_size, parallel, context_window, max_sequence_length, "              \
    "long_documents, last_step, on_bad_shard, packing, sharding, cost, serve, access, observe "    \
    "and state"
#define SYNTAX "; check indentation (spaces, no tabs), colons and brackets"
#define ALIASES                                                                                    \
    "anchors (&name) and aliases (*name) are not supported: write the value out, or quote a glob " \
    "that begins with *"
#define EMPTY                                                                                      \
    "job.yaml:1: empty, expected a mapping with at least job, sources, context_window and cost: "  \
    "start from the sample ballast.yaml"

static void check_all(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error err = { 0 };
        int status = must_refuse(refusals[i].text, NULL, &err);
        cr_expect_eq(status, EX_CONFIG, "%s", refusals[i].text);
        cr_expect_str_eq(err.text, refusals[i].error, "%s\nfound:    %s\nexpected: %s",
                         refusals[i].text, err.text, refusals[i].error);
    }
}

#define CHECK(refusals) check_all(refusals, sizeof(refusals) / sizeof *(refusals))

Test(config_refusals, what_is_no_yaml)
{
    static const struct refusal refusals[] = {
        { "", EMPTY },
        { "# nothing but a comment\n", EMPTY },
        { "[a, b]\n",
          "job.yaml:1: found a list at the top, expected a mapping (key: value lines)" },
        { "\n\nhello\n",
          "job.yaml:3: found a single value at the top, expected a mapping (key: value lines)" },
        { "job: j\n\tseed: 3\n", "job.yaml:2: not YAML: found a tab character that violates "
                                 "indentation while scanning a plain scalar" SYNTAX },
        { "job: j\n  seed: 3\n",
          "job.yaml:2: not YAML: mapping values are not allowed in this context" SYNTAX },
        { "job: 'j\n", "job.yaml:2: not YAML: found unexpected end of stream while scanning a "
                       "quoted scalar" SYNTAX },
        { "job: j\nseed: [1\n", "job.yaml:3: not YAML: did not find expected ',' or ']' while "
                                "parsing a flow sequence" SYNTAX },
        { "job: j\nseed: \x01\n", "job.yaml:2: not text: control characters are not allowed at "
                                  "byte 13, expected YAML in UTF-8" },
        { "job: j\nseed: \xff\n", "job.yaml:2: not text: invalid leading UTF-8 octet at byte 13, "
                                  "expected YAML in UTF-8" },
        { "job: j\nseed: \xc3\n", "job.yaml:2: not text: invalid trailing UTF-8 octet at byte 14, "
                                  "expected YAML in UTF-8" },
    };
    CHECK(refusals);
}

Test(config_refusals, what_yaml_allows_and_a_configuration_does_not_need)
{
    static const struct refusal refusals[] = {
        { "job: j\nseed: &a 3\n", "job.yaml:2: " ALIASES },
        { "job: &a j\nseed: *a\n", "job.yaml:1: " ALIASES },
        { "job: j\nsources: [*.idx]\n", "job.yaml:2: " ALIASES },
        { "job: j\nseed: &a [1]\n", "job.yaml:2: " ALIASES },
        { "&a job: j\n", "job.yaml:1: " ALIASES },
        { "job: !!str j\n", "job.yaml:1: tags (!name) are not supported: remove the tag" },
        { "job: j\nseed: !x {}\n", "job.yaml:2: tags (!name) are not supported: remove the tag" },
        { "job: j\n---\njob: k\n",
          "job.yaml:2: a second document begins, expected one: remove the line '---'" },
        { "job: \"a\\0b\"\n", "job.yaml:1: a value holds a NUL character: remove it" },
        { "job: j\n? [a]\n: 3\n", "job.yaml:2: a key is a list or a mapping, expected a word" },
        { "job: j\nseed: [[[[[[[[3]]]]]]]]\n", "job.yaml:2: nested more than 8 levels deep" },
    };
    CHECK(refusals);
}

Test(config_refusals, keys)
{
    static const struct refusal refusals[] = {
        { SMALLEST "sed: 3\n", "job.yaml:6: unknown key \"sed\", expected one of " TOP_KEYS },
        { SMALLEST "seed: 3\nserve:\n  steps_ahead: 3\n  http: x\n",
          "job.yaml:9: serve: unknown key \"http\", expected one of endpoint, admin, steps_ahead, "
          "gather_threads, cache_bytes, max_message_bytes, max_clients and readers" },
        { SMALLEST "packing: { delay: 16 }\n",
          "job.yaml:6: packing: unknown key \"delay\", expected one of policy, window, "
          "outlier_thresholds, max_waiting_steps, objective, balance, max_delay, solver_nodes and "
          "solver_time_ms" },
        { SMALLEST "observe:\n  logs: text\n",
          "job.yaml:7: observe: unknown key \"logs\", expected one of log" },
        { SMALLEST "parallel: { dp: 1, ep: 2 }\n",
          "job.yaml:6: parallel: unknown key \"ep\", expected one of dp, pp, cp, tp and "
          "microbatches" },
        { SOURCE("wait: 3") REST,
          "job.yaml:3: sources[0]: unknown key \"wait\", expected one of name, format, paths, "
          "weight and epochs" },
        { SMALLEST "job: k\n", "job.yaml:6: duplicate key 'job', given first in line 1: remove one "
                               "of them" },
        { SMALLEST "serve:\n  admin: a\n\n  admin: b\n",
          "job.yaml:9: duplicate key 'admin', given first in line 7: remove one of them" },
    };
    CHECK(refusals);
}

Test(config_refusals, missing_keys)
{
    static const struct refusal refusals[] = {
        { "# first\nseed: 3\n", "job.yaml:2: the key 'job' is missing: write for example job: "
                                "my-run" },
        { JOB, "job.yaml:1: the key 'sources' is missing: write for example sources: [{ name: web, "
               "format: megatron, paths: [web-*.idx] }]" },
        { SOURCE("weight: 1"), "job.yaml:1: the key 'context_window' is missing: write for example "
                               "context_window: 131072" },
        { JOB "sources:\n  - {}\n", "job.yaml:3: sources[0]: the key 'name' is missing: write for "
                                    "example name: web" },
        { JOB "sources:\n  - name: a\n    format: lengths\n",
          "job.yaml:3: sources[0]: the key 'paths' is missing: write for example paths: "
          "[web-*.idx]" },
        { SOURCE("weight: 1") "context_window: 4096\n",
          "job.yaml:1: cost: found none of crossover_tokens, model and table, expected exactly "
          "one: write for example cost: { crossover_tokens: 24576 }" },
        { SOURCE("weight: 1") "context_window: 4096\ncost:\n  model: { layers: 3 }\n",
          "job.yaml:6: cost.model: the key 'hidden' is missing: write for example hidden: 4096" },
        { JOB "sources: [{ name: a, format: megatron, paths: [x] }]\n" REST,
          "job.yaml:2: sources[0].format: megatron sources need vocab_size, found none: write for "
          "example vocab_size: 50257 at the top level" },
    };
    CHECK(refusals);
}

Test(config_refusals, types)
{
    static const struct refusal refusals[] = {
        { "job: [j]\n", "job.yaml:1: job: found a list of 1 value, expected a text of 1 to 63 "
                        "bytes" },
        { "job:\n", "job.yaml:1: job: found nothing, expected a text of 1 to 63 bytes" },
        { JOB "seed: {}\n", "job.yaml:2: seed: found a mapping, expected a whole number from 0 to "
                            "18446744073709551615" },
        { JOB "sources: web\n",
          "job.yaml:2: sources: found \"web\", expected a list [...] of 1 to 1024 values" },
        { JOB "sources: []\n", "job.yaml:2: sources: found a list of 0 values, expected a list "
                               "[...] of 1 to 1024 values" },
        { JOB "sources:\n  - web\n",
          "job.yaml:3: sources[0]: found \"web\", expected a mapping { key: value }" },
        { JOB "sources:\n  - { name: a, format: lengths, paths: x }\n",
          "job.yaml:3: sources[0].paths: found \"x\", expected a list [...] of 1 to 4096 values" },
        { JOB "sources:\n  - name: a\n    format: lengths\n    paths:\n      - x\n      - [y]\n",
          "job.yaml:7: sources[0].paths[1]: found a list of 1 value, expected a text of 1 to 4095 "
          "bytes" },
        { JOB "sources:\n  - { name: a, format: mds, paths: [x] }\n",
          "job.yaml:3: sources[0].format: found \"mds\", expected megatron or lengths" },
        { SMALLEST "serve:\n",
          "job.yaml:6: serve: found nothing, expected a mapping { key: value }" },
        { SMALLEST "packing: wlb\n",
          "job.yaml:6: packing: found \"wlb\", expected a mapping { key: value }" },
        { SMALLEST "long_documents: cut\n",
          "job.yaml:6: long_documents: found \"cut\", expected split, truncate or drop" },
        { SMALLEST "last_step: 1\n", "job.yaml:6: last_step: found \"1\", expected serve or drop" },
        { SMALLEST "on_bad_shard: fail\n",
          "job.yaml:6: on_bad_shard: found \"fail\", expected stop or skip" },
        { SMALLEST "sharding: { strategy: zigzag }\n",
          "job.yaml:6: sharding.strategy: found \"zigzag\", expected per-sequence, per-document, "
          "adaptive or hybrid" },
        { SMALLEST "observe: { log: xml }\n",
          "job.yaml:6: observe.log: found \"xml\", expected text or json" },
    };
    CHECK(refusals);
}

Test(config_refusals, whole_numbers)
{
    static const char *const bad[] = {
        "-1", "+1", "1.5", "1e3", "010", "0x", "1 2", "ten", "1_000", "0b1", "99999999999999999999"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512], expected[256];
        snprintf(text, sizeof text, SMALLEST "seed: %s\n", bad[i]);
        snprintf(expected, sizeof expected,
                 "job.yaml:6: seed: found \"%s\", expected a whole number from 0 to "
                 "18446744073709551615",
                 bad[i]);
        struct error err = { 0 };
        cr_expect_eq(must_refuse(text, NULL, &err), EX_CONFIG);
        cr_expect_str_eq(err.text, expected);
    }
}

Test(config_refusals, numbers)
{
    static const char *const bad[] = { "0",   "-1",    "nan",   "inf",   "1e999", "-0.5", "0x1p3",
                                       "one", "1e-07", "1e+10", "1.2.3", ".",     "1e" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512], expected[256];
        snprintf(text, sizeof text, SOURCE("weight: %s") REST, bad[i]);
        snprintf(expected, sizeof expected,
                 "job.yaml:3: sources[0].weight: found \"%s\", expected a number from 1e-06 to "
                 "1e+09",
                 bad[i]);
        struct error err = { 0 };
        cr_expect_eq(must_refuse(text, NULL, &err), EX_CONFIG);
        cr_expect_str_eq(err.text, expected);
    }
}

Test(config_refusals, bounds)
{
    static const struct refusal refusals[] = {
        { SOURCE("epochs: 0") REST, "job.yaml:3: sources[0].epochs: found \"0\", expected repeat "
                                    "or a whole number from 1 to 2147483647" },
        { SOURCE("epochs: -1") REST, "job.yaml:3: sources[0].epochs: found \"-1\", expected repeat "
                                     "or a whole number from 1 to 2147483647" },
        { SOURCE("epochs: ever") REST, "job.yaml:3: sources[0].epochs: found \"ever\", expected "
                                       "repeat or a whole number from 1 to 2147483647" },
        { SMALLEST "parallel: { dp: 0 }\n",
          "job.yaml:6: parallel.dp: found \"0\", expected a whole number from 1 to 65536" },
        { SMALLEST "parallel: { cp: 1025 }\n",
          "job.yaml:6: parallel.cp: found \"1025\", expected a whole number from 1 to 1024" },
        { SMALLEST "parallel: { tp: 4294967296 }\n",
          "job.yaml:6: parallel.tp: found \"4294967296\", expected a whole number from 1 to "
          "65536" },
        { SMALLEST "vocab_size: 2147483649\n",
          "job.yaml:6: vocab_size: found \"2147483649\", expected a whole number from 0 to "
          "2147483648" },
        { SOURCE("weight: 1") "context_window: 67108865\ncost: { crossover_tokens: 1024 }\n",
          "job.yaml:4: context_window: found \"67108865\", expected a whole number from 1 to "
          "67108864" },
        { SMALLEST "packing:\n  outlier_thresholds:\n  - 0\n",
          "job.yaml:8: packing.outlier_thresholds[0]: found \"0\", expected a whole number from 1 "
          "to 268435456" },
        { SMALLEST "packing:\n  outlier_thresholds: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]\n",
          "job.yaml:7: packing.outlier_thresholds: found a list of 17 values, expected auto or a "
          "list "
          "[...] of 1 to 16 values" },
        { SMALLEST "packing:\n  outlier_thresholds: []\n",
          "job.yaml:7: packing.outlier_thresholds: found a list of 0 values, expected auto or a "
          "list [...] of 1 to 16 values" },
        { SMALLEST "packing:\n  outlier_thresholds: best\n",
          "job.yaml:7: packing.outlier_thresholds: found \"best\", expected auto or a list [...] "
          "of "
          "1 to 16 values" },
        { SMALLEST "packing:\n  max_waiting_steps: 1\n  outlier_thresholds: auto\n",
          "job.yaml:7: packing.max_waiting_steps: found 1, expected more than the number of "
          "outlier_thresholds, 1" },
    };
    CHECK(refusals);
}

Test(config_refusals, values_that_do_not_go_together)
{
    static const struct refusal refusals[] = {
        { "job: \"a\\nb\"\nsources: [{ name: a, format: lengths, paths: [x] }]\n" REST,
          "job.yaml:1: job: holds a control character, expected one line of text" },
        { JOB "sources:\n  - { name: a b, format: lengths, paths: [x] }\n" REST,
          "job.yaml:3: sources[0].name: found \"a b\", expected letters, digits, '.', '_' and '-' "
          "only" },
        { JOB "sources:\n  - { name: a, format: lengths, paths: [x] }\n"
              "  - { name: a, format: lengths, paths: [y] }\n" REST,
          "job.yaml:4: sources[1].name: 'a' is the name of sources[0] too: give each source its "
          "own name" },
        { SMALLEST "parallel:\n  dp: 256\n  microbatches: 257\n",
          "job.yaml:6: parallel: dp x microbatches is 65792, expected at most 65536" },
        { SMALLEST "max_sequence_length: 4095\n",
          "job.yaml:6: max_sequence_length: found 4095, expected at least context_window (4096)" },
        { SMALLEST "packing:\n  outlier_thresholds:\n  - 5\n  - 5\n",
          "job.yaml:9: packing.outlier_thresholds[1]: found 5 behind 5, expected more: thresholds "
          "rise" },
        { SMALLEST "packing:\n  policy: wlb\n  max_waiting_steps: 2\n",
          "job.yaml:8: packing.max_waiting_steps: found 2, expected more than the number of "
          "outlier_thresholds, 2" },
    };
    CHECK(refusals);
}

/* The policies of this build. */
Test(config_refusals, unknown_policies)
{
    char expected[256] = "job.yaml:6: packing.policy: found \"best\", expected one of plain";
    for (size_t i = 1; pack_policies[i]; i++) {
        strcat(expected, ", ");
        strcat(expected, pack_policies[i]->name);
    }
    struct refusal refusal = { SMALLEST "packing: { policy: best }\n", expected };
    check_all(&refusal, 1);
}

Test(config_refusals, cost)
{
    static const struct refusal refusals[] = {
        { SOURCE("weight: 1") "context_window: 4096\ncost:\n  crossover_tokens: 1024\n  model: { "
                              "layers: 1, hidden: 1, heads: 1, ffn: 1, vocab: 1, tflops: 1 }\n",
          "job.yaml:7: cost.model: found cost.crossover_tokens too, expected exactly one of "
          "crossover_tokens, model and table" },
        { SOURCE("weight: 1") "context_window: 4096\ncost:\n  model: { layers: 1, hidden: 64, "
                              "heads: 1, kv_heads: 2, ffn: 64, vocab: 64, tflops: 1 }\n",
          "job.yaml:6: cost.model: layers, hidden, heads, kv_heads, ffn, vocab and tp must "
          "all be greater than 0, and kv_heads at most heads" },
        { SOURCE("weight: 1") "context_window: 67108864\ncost: { crossover_tokens: 1 }\n",
          "job.yaml:5: cost: the workload of a micro-batch of 134217728 tokens does not fit 63 "
          "bits: check cost and context_window" },
    };
    CHECK(refusals);
}

Test(config_refusals, endpoints)
{
    static const char *const bad[] = { "tcp://host",     "tcp://host:",   "tcp://:1",
                                       "tcp://host:1a",  "tcp://h:65536", "tcp://h/x:1",
                                       "http://host:80", "ipc://",        "127.0.0.1:5755" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512], expected[256];
        snprintf(text, sizeof text, SMALLEST "serve:\n  endpoint: '%s'\n", bad[i]);
        snprintf(expected, sizeof expected,
                 "job.yaml:7: serve.endpoint: found \"%s\", expected tcp://HOST:PORT or ipc://PATH "
                 "(a path of at most 107 bytes)",
                 bad[i]);
        struct error err = { 0 };
        cr_expect_eq(must_refuse(text, NULL, &err), EX_CONFIG);
        cr_expect_str_eq(err.text, expected);
    }
    struct error err = { 0 };
    must_refuse(SMALLEST "serve:\n  endpoint: 'ipc://x'\n  admin: 'ipc://x'\n", NULL, &err);
    cr_expect_str_eq(err.text, "job.yaml:6: serve: endpoint and admin are the same, expected two "
                               "sockets");
}

/* A text of `count` times `part` between `head` and `tail`. */
static char *repeated(const char *head, const char *part, size_t count, const char *tail)
{
    size_t head_bytes = strlen(head), bytes = strlen(part);
    char *text = malloc(head_bytes + count * bytes + strlen(tail) + 1);
    strcpy(text, head);
    for (size_t i = 0; i < count; i++)
        memcpy(text + head_bytes + i * bytes, part, bytes);
    strcpy(text + head_bytes + count * bytes, tail);
    return text;
}

static void check_repeated(const char *head, const char *part, size_t count, const char *tail,
                           const char *expected)
{
    struct error err = { 0 };
    char *text = repeated(head, part, count, tail);
    cr_expect_eq(must_refuse(text, NULL, &err), EX_CONFIG);
    cr_expect_str_eq(err.text, expected);
    free(text);
}

Test(config_refusals, texts_made_to_be_large)
{
    check_repeated("job: ", "x", 1 << 20, "\n",
                   "job.yaml: longer than 1048576 bytes, which no configuration is");
    check_repeated("job: ", "[", 500000, "", "job.yaml:1: nested more than 8 levels deep");
    check_repeated("job: ", "{a: ", 200000, "", "job.yaml:1: nested more than 8 levels deep");
    check_repeated("job: ", "- ", 500000, "a",
                   "job.yaml:1: not YAML: block sequence entries are not allowed in this "
                   "context" SYNTAX);
    check_repeated("job: [", "a,", 200000, "]",
                   "job.yaml:1: more than 100000 values: use globs in paths");
    check_repeated("", "k", 65, ": 3\n", "job.yaml:1: a key is longer than 64 bytes");
    check_repeated(
        "job: ", "x", 256, "\n",
        "job.yaml:1: job: found "
        "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\""
        ", expected a text of 1 to 63 bytes");
}

Test(config_refusals, too_many_keys_in_one_mapping)
{
    char text[1024] = "";
    for (int i = 0; i < 70; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "k%d: 1\n", i);
    struct error err = { 0 };
    must_refuse(text, NULL, &err);
    cr_expect_str_eq(err.text, "job.yaml:65: more than 64 keys in one mapping");
}

Test(config_refusals, an_error_is_one_line_whatever_it_quotes)
{
    static const char *const texts[] = {
        "job: \"a\\nb\"\nsources: 1\n",
        "job: j\n\"se\\ned\\x1b[2J\": 3\n",
        "job: j\nsources: \"a\\nb\\r\\x7f\"\n",
        "\"a\\nb\": 1\n\"a\\nb\": 2\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error err = { 0 };
        must_refuse(texts[i], NULL, &err);
        for (const char *c = err.text; *c; c++)
            cr_expect(*c >= ' ' && *c < 127, "%s", err.text);
    }
}

Test(config_refusals, binary_garbage)
{
    static const unsigned char garbage[] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0xff, 0xfe };
    struct config *config = NULL;
    struct error err = { 0 };
    int status =
        config_parse("job.yaml", (const char *)garbage, sizeof garbage, NULL, 0, &config, &err);
    cr_expect_eq(status, EX_CONFIG);
    cr_expect_str_eq(err.text, "job.yaml:1: not text: control characters are not allowed at byte "
                               "0, expected YAML in UTF-8");
}
