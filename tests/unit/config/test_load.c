/* Files: what cannot be read, and where relative paths start. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parse.h"
#include "support/temp_dir.h"

static struct temp_dir dir;

static void make(void)
{
    dir = temp_dir_make();
}

static void removed(void)
{
    temp_dir_remove(&dir);
}

TestSuite(config_load, .init = make, .fini = removed);

static struct config *must_load(const char *path)
{
    struct config *config = NULL;
    struct error err = { 0 };
    cr_assert_eq(config_load(path, NULL, 0, &config, &err), 0, "%s", err.text);
    return config;
}

static void must_not_load(const char *path, int code, const char *reason)
{
    struct config *config = NULL;
    struct error err = { 0 };
    cr_expect_eq(config_load(path, NULL, 0, &config, &err), code);
    cr_expect_null(config);
    char expected[ERROR_TEXT_BYTES];
    snprintf(expected, sizeof expected, "%.300s%.200s", path, reason);
    cr_expect_str_eq(err.text, expected);
}

Test(config_load, relative_paths_start_at_the_file)
{
    char path[TEMP_PATH_BYTES], expected[TEMP_PATH_BYTES + 32];
    const char *text = "job: j\nsources: [{ name: a, format: lengths, paths: [b/c-*.txt, /abs] }]\n"
                       "context_window: 8\ncost: { crossover_tokens: 8 }\n";
    file_write(temp_path(&dir, "job.yaml", path), text, strlen(text));
    struct config *config = must_load(path);
    char *real = realpath(dir.path, NULL);
    snprintf(expected, sizeof expected, "%s/b/c-*.txt", real);
    cr_expect_str_eq(config->sources[0].paths[0], expected);
    cr_expect_str_eq(config->sources[0].paths[1], "/abs");
    free(real);
    config_free(config);
}

Test(config_load, the_state_directory_starts_at_the_file_too)
{
    char path[TEMP_PATH_BYTES], expected[TEMP_PATH_BYTES + 32];
    const char *text = "job: j\nsources: [{ name: a, format: lengths, paths: [b] }]\n"
                       "context_window: 8\ncost: { crossover_tokens: 8 }\n"
                       "state: { directory: a/b, snapshot_every: 7 }\n";
    file_write(temp_path(&dir, "job.yaml", path), text, strlen(text));
    struct config *config = must_load(path);
    char *real = realpath(dir.path, NULL);
    snprintf(expected, sizeof expected, "%s/a/b", real);
    cr_expect_str_eq(config->state.directory, expected);
    cr_expect_eq(config->state.snapshot_every, 7);
    free(real);
    config_free(config);
}

Test(config_load, a_directory_is_no_glob)
{
    char sub[TEMP_PATH_BYTES], path[TEMP_PATH_BYTES + 16];
    cr_assert_eq(mkdir(temp_path(&dir, "run[1]*?", sub), 0700), 0);
    snprintf(path, sizeof path, "%s/job.yaml", sub);
    file_write(path, SMALLEST, strlen(SMALLEST));
    struct config *config = must_load(path);
    cr_expect_not_null(strstr(config->sources[0].paths[0], "/run\\[1\\]\\*\\?/a.txt"));
    config_free(config);
}

Test(config_load, overrides_apply)
{
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "job.yaml", path), SMALLEST, strlen(SMALLEST));
    struct config_override override = { "seed", "5" };
    struct config *config = NULL;
    struct error err = { 0 };
    cr_assert_eq(config_load(path, &override, 1, &config, &err), 0);
    cr_expect_eq(config->seed, 5);
    config_free(config);
}

Test(config_load, what_cannot_be_read)
{
    char path[TEMP_PATH_BYTES];
    must_not_load(temp_path(&dir, "absent.yaml", path), EX_NOINPUT,
                  ": cannot read the configuration: No such file or directory");
    must_not_load(dir.path, EX_NOINPUT, ": cannot read the configuration: Is a directory");
}

Test(config_load, what_is_no_configuration)
{
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "job.yaml", path), "", 0);
    must_not_load(path, EX_CONFIG,
                  ":1: empty, expected a mapping with at least job, sources, context_window and "
                  "cost: start from the sample ballast.yaml");
    cr_assert_eq(truncate(path, 1 << 30), 0);
    must_not_load(path, EX_CONFIG, ": longer than 1048576 bytes, which no configuration is");
}

Test(config_load, the_sample)
{
    struct config *config = must_load(BALLAST_SOURCE_DIR "/deploy/ballast.yaml");
    cr_expect_eq(config->source_count, 2);
    cr_expect_eq(config->max_sequence_length, 196608);
    config_free(config);
}
