/* The section `access`: pairs of files, and endpoints that others can reach. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "support/temp_dir.h"

static void expect_refused(const char *const *overrides, const char *key, const char *words)
{
    struct error err = { 0 };
    cr_expect_eq(must_refuse(SMALLEST, overrides, &err), EX_CONFIG);
    cr_expect_not_null(strstr(err.text, key), "%s", err.text);
    cr_expect_not_null(strstr(err.text, words), "%s", err.text);
}

static bool accepted(const char *endpoint, const char *more)
{
    char serve[256];
    snprintf(serve, sizeof serve, "serve.endpoint=%s", endpoint);
    const char *const overrides[] = { serve, more, NULL };
    struct config *config = must_parse(SMALLEST, overrides);
    bool same = strcmp(config->serve.endpoint, endpoint) == 0;
    config_free(config);
    return same;
}

static const char *const reachable[] = {
    "tcp://*:5755",       "tcp://0.0.0.0:5755",   "'tcp://[::]:*'",          "tcp://10.0.0.1:5755",
    "tcp://eth0:5755",    "tcp://localhost:1",    "tcp://127.example.org:1", "tcp://1270.0.0.1:1",
    "'tcp://[::2]:5755'", "tcp://128.0.0.1:5755",
};

Test(config_access, local_endpoints_need_no_curve)
{
    cr_expect(accepted("tcp://127.0.0.1:5755", NULL));
    cr_expect(accepted("tcp://127.255.0.9:*", NULL));
    cr_expect(accepted("tcp://[::1]:5755", NULL));
    cr_expect(accepted("ipc:///tmp/x", NULL));
}

Test(config_access, what_others_can_reach_needs_it_or_a_word)
{
    for (size_t i = 0; i < sizeof reachable / sizeof *reachable; i++) {
        char trainers[128], operators[128];
        snprintf(trainers, sizeof trainers, "serve.endpoint=%s", reachable[i]);
        snprintf(operators, sizeof operators, "serve.admin=%s", reachable[i]);
        expect_refused((const char *[]){ trainers, NULL },
                       "serve.endpoint: ", "allow_plaintext: true");
        expect_refused((const char *[]){ operators, NULL },
                       "serve.admin: ", "curve_secret_key: FILE");
        config_free(must_parse(SMALLEST,
                               (const char *[]){ trainers, "access.allow_plaintext=true", NULL }));
        config_free(must_parse(
            SMALLEST,
            (const char *[]){ operators, "access={curve_secret_key: a, clients: b}", NULL }));
    }
}

Test(config_access, key_and_list_go_together)
{
    expect_refused((const char *[]){ "access.curve_secret_key=a", NULL },
                   "access: ", "write for example clients: ");
    expect_refused((const char *[]){ "access.clients=a", NULL }, "access: ", "ballastctl keygen");
    expect_refused(
        (const char *[]){ "access={curve_secret_key: a, clients: b, allow_plaintext: true}", NULL },
        "access.allow_plaintext: ", "nothing is plain");
    expect_refused((const char *[]){ "access.max_clients_per_key=8", NULL },
                   "access.max_clients_per_key: ", "have no keys here");
    expect_refused((const char *[]){ "access.allow_plaintext=yes", NULL },
                   "access.allow_plaintext: ", "expected false or true");
}

Test(config_access, relative_paths_start_at_the_file)
{
    struct temp_dir dir = temp_dir_make();
    char path[TEMP_PATH_BYTES], expected[TEMP_PATH_BYTES + 32];
    const char *text = SMALLEST "access: { curve_secret_key: keys/server.key, clients: /abs }\n";
    file_write(temp_path(&dir, "job.yaml", path), text, strlen(text));
    struct config *config = NULL;
    struct error err = { 0 };
    cr_assert_eq(config_load(path, NULL, 0, &config, &err), 0, "%s", err.text);
    char *real = realpath(dir.path, NULL);
    snprintf(expected, sizeof expected, "%s/keys/server.key", real);
    cr_expect_str_eq(config->access.curve_secret_key, expected);
    cr_expect_str_eq(config->access.clients, "/abs");
    free(real);
    config_free(config);
    temp_dir_remove(&dir);
}

Test(config_access, is_printed_and_decides_no_plan)
{
    struct config *plain = must_parse(SMALLEST, NULL);
    struct config *secured = must_parse(
        SMALLEST, (const char *[]){ "access={curve_secret_key: /a, clients: /b}", NULL });
    char *printed = must_print(secured), *one = NULL, *other = NULL;
    struct error err = { 0 };
    cr_expect_not_null(strstr(printed, "access:\n  curve_secret_key: /a\n  clients: /b\n"
                                       "  max_clients_per_key: 0\n"
                                       "  allow_plaintext: false\n"));
    cr_assert_eq(config_plan_text(plain, &one, &err), 0);
    cr_assert_eq(config_plan_text(secured, &other, &err), 0);
    cr_expect_str_eq(one, other);
    free(printed);
    free(one);
    free(other);
    config_free(plain);
    config_free(secured);
}
