/* Opening a job: with its ledger if there is one, under any configuration that the ledger knows. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "state/job_open.h"
#include "support/length_job.h"

static uint32_t lengths[] = { 10, 20, 30, 40, 50 };
static struct length_source source = { "s", 1, 0, lengths, 5 };
static struct length_job job;
static struct temp_dir dir;
static struct state_directory directory;
static struct open_job opened;
static struct error err;

static void make(void)
{
    job = length_job_open("context_window: 64\nparallel: { dp: 2 }", &source, 1);
    dir = temp_dir_make();
    directory = STATE_DIRECTORY_CLOSED(dir.path);
    cr_assert_eq(state_directory_open(&directory, &err), 0);
    cr_assert_eq(state_directory_lock(&directory, &err), 0);
}

static void removed(void)
{
    job_close(&opened);
    state_directory_close(&directory);
    temp_dir_remove(&dir);
    length_job_close(&job);
}

TestSuite(job_open, .init = make, .fini = removed);

#define CHANGE "context_window=32\nparallel={dp: 4}\n"

/* Writes a ledger of the job that `config` begins. */
static void write_ledger(const struct config *config)
{
    struct job_ledger ledger = { 0 };
    struct ledger_entry entry = { .kind = LEDGER_RESHAPE,
                                  .step = 5,
                                  .settings = (char *)(size_t)CHANGE };
    cr_assert_eq(job_open(config, job.corpus, NULL, &opened, &err), 0, "%s", err.text);
    ledger.job = planner_job_digest(opened.planner);
    job_close(&opened);
    cr_assert_eq(config_settings(config, &ledger.settings, &err), 0);
    cr_assert_eq(job_ledger_append(&ledger, &entry, &err), 0);
    cr_assert_eq(state_directory_write_ledger(&directory, &ledger, &err), 0);
    job_ledger_fini(&ledger);
}

static struct config *changed(const char *settings)
{
    struct config *config;
    cr_assert_eq(config_with_settings(job.config, settings, &config, &err), 0, "%s", err.text);
    return config;
}

Test(job_open, without_a_ledger_there_is_none)
{
    cr_assert_eq(job_open(job.config, job.corpus, &directory, &opened, &err), 0, "%s", err.text);
    cr_assert_eq(opened.history->ledger.count, 0);
}

Test(job_open, with_the_first_configuration)
{
    write_ledger(job.config);
    cr_assert_eq(job_open(job.config, job.corpus, &directory, &opened, &err), 0, "%s", err.text);
    cr_assert_eq(opened.history->ledger.count, 1);
    cr_assert_eq(history_config(opened.history, 5)->parallel.dp, 4);
}

Test(job_open, with_the_newest_configuration)
{
    write_ledger(job.config);
    struct config *newest = changed(CHANGE);
    cr_assert_eq(job_open(newest, job.corpus, &directory, &opened, &err), 0, "%s", err.text);
    cr_assert_eq(opened.history->ledger.count, 1);
    cr_assert_eq(history_config(opened.history, 4)->parallel.dp, 2);
    cr_assert_eq(history_config(opened.history, 5)->context_window, 32);
    job_close(&opened);
    config_free(newest);
}

Test(job_open, another_configuration_is_another_job)
{
    write_ledger(job.config);
    struct config *other = changed("context_window=33\n");
    cr_assert_eq(job_open(other, job.corpus, &directory, &opened, &err), 0, "%s", err.text);
    cr_assert_eq(opened.history->ledger.count, 0);
    job_close(&opened);
    config_free(other);
}

Test(job_open, two_ways_to_one_configuration_are_refused)
{
    struct config *other = changed("context_window=33\n"), *newest = changed(CHANGE);
    write_ledger(job.config);
    write_ledger(other);
    cr_assert_eq(job_open(newest, job.corpus, &directory, &opened, &err), EX_CONFIG);
    cr_assert(strstr(err.text, "two ledgers"), "%s", err.text);
    config_free(other);
    config_free(newest);
}

Test(job_open, a_bad_ledger_ends_it)
{
    char path[TEMP_PATH_BYTES], name[64], digest[DIGEST_TEXT_BYTES];
    cr_assert_eq(job_open(job.config, job.corpus, NULL, &opened, &err), 0);
    snprintf(name, sizeof name, "%s.ledger",
             digest_text(planner_job_digest(opened.planner), digest));
    job_close(&opened);
    file_write(temp_path(&dir, name, path), "hello", 5);
    cr_assert_eq(job_open(job.config, job.corpus, &directory, &opened, &err), EX_DATAERR);
    cr_assert(strstr(err.text, name) && strstr(err.text, "put a good copy back"), "%s", err.text);
}
