/* The log as a whole: levels, the journal, readers that do not read, threads. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/log.h"

struct tap {
    int read_fd, write_fd;
    struct log *log;
};

static struct tap tap_open(enum log_level level, bool json)
{
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    struct tap tap = { fds[0], fds[1], NULL };
    struct log_options options = { .fd = fds[1], .json = json, .level = level };
    struct error err = { 0 };
    cr_assert_eq(log_new(&options, &tap.log, &err), 0, "%s", err.text);
    return tap;
}

static void tap_close(struct tap *tap)
{
    log_free(tap->log);
    close(tap->read_fd);
    close(tap->write_fd);
}

/* What has been written so far; the caller's to free. */
static char *tap_read(const struct tap *tap)
{
    size_t used = 0, room = 1 << 20;
    char *text = malloc(room);
    struct pollfd poll_fd = { .fd = tap->read_fd, .events = POLLIN };
    while (used < room - 1 && poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLIN) {
        ssize_t got = read(tap->read_fd, text + used, room - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    text[used] = 0;
    return text;
}

Test(log, leaves_out_what_is_lighter)
{
    struct tap tap = tap_open(LOG_LEVEL_WARNING, false);
    log_write(tap.log, LOG_LEVEL_ERROR, "one", NULL);
    log_write(tap.log, LOG_LEVEL_WARNING, "two", NULL);
    log_write(tap.log, LOG_LEVEL_INFO, "three", NULL);
    log_write(tap.log, LOG_LEVEL_DEBUG, "four", NULL);
    char *text = tap_read(&tap);
    cr_expect_not_null(strstr(text, "Z error: one\n"));
    cr_expect_not_null(strstr(text, "Z warning: two\n"));
    cr_expect_null(strstr(text, "three"));
    cr_expect_null(strstr(text, "four"));
    cr_expect(log_wants(tap.log, LOG_LEVEL_WARNING));
    cr_expect_not(log_wants(tap.log, LOG_LEVEL_INFO));
    free(text);
    tap_close(&tap);
}

Test(log, lines_begin_with_the_time_in_utc)
{
    struct tap tap = tap_open(LOG_LEVEL_INFO, false);
    log_write(tap.log, LOG_LEVEL_INFO, "m", (struct log_field[]){ log_uint("n", 5), log_end() });
    char *text = tap_read(&tap);
    unsigned year, month, day, hour, minute, second, millisecond;
    char rest[64];
    int fields = sscanf(text, "%4u-%2u-%2uT%2u:%2u:%2u.%3uZ %63[^\n]", &year, &month, &day, &hour,
                        &minute, &second, &millisecond, rest);
    cr_assert_eq(fields, 8, "%s", text);
    cr_expect_str_eq(rest, "info: m n=5");
    free(text);
    tap_close(&tap);
}

/* The log must see the variable when it opens. */
static struct tap tap_open_as_journal(bool json)
{
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    struct stat status;
    cr_assert_eq(fstat(fds[1], &status), 0);
    char stream[64];
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    struct tap tap = { fds[0], fds[1], NULL };
    struct log_options options = { .fd = fds[1], .json = json, .level = LOG_LEVEL_DEBUG };
    struct error err = { 0 };
    cr_assert_eq(log_new(&options, &tap.log, &err), 0);
    return tap;
}

Test(log, the_journal_gets_priorities_and_no_time)
{
    struct tap tap = tap_open_as_journal(false);
    log_write(tap.log, LOG_LEVEL_ERROR, "a", NULL);
    log_write(tap.log, LOG_LEVEL_WARNING, "b", NULL);
    log_write(tap.log, LOG_LEVEL_INFO, "c", NULL);
    log_write(tap.log, LOG_LEVEL_DEBUG, "d", NULL);
    char *text = tap_read(&tap);
    cr_expect_str_eq(text, "<3>error: a\n<4>warning: b\n<6>info: c\n<7>debug: d\n");
    free(text);
    tap_close(&tap);
}

Test(log, the_journal_takes_json_too)
{
    struct tap tap = tap_open_as_journal(true);
    log_write(tap.log, LOG_LEVEL_INFO, "a", NULL);
    char *text = tap_read(&tap);
    cr_expect_str_eq(text, "<6>{\"level\":\"info\",\"message\":\"a\"}\n");
    free(text);
    tap_close(&tap);
}

Test(log, another_stream_is_not_the_journal)
{
    static const char *const others[] = { "1:2", "", "x", "1", "1:", "1:2:3" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        setenv("JOURNAL_STREAM", others[i], 1);
        struct tap tap = tap_open(LOG_LEVEL_INFO, false);
        log_write(tap.log, LOG_LEVEL_INFO, "a", NULL);
        char *text = tap_read(&tap);
        cr_expect_eq(*text, '2', "begins with the year: %s", text);
        free(text);
        tap_close(&tap);
    }
}

Test(log, a_long_message_is_one_line_that_a_pipe_takes_whole)
{
    struct tap tap = tap_open(LOG_LEVEL_INFO, false);
    char *message = malloc(100000);
    memset(message, 'x', 99999);
    message[99999] = 0;
    log_write(tap.log, LOG_LEVEL_INFO, message, NULL);
    char *text = tap_read(&tap);
    cr_expect_leq(strlen(text), LOG_LINE_BYTES);
    cr_expect_eq(strchr(text, '\n'), text + strlen(text) - 1);
    free(text);
    free(message);
    tap_close(&tap);
}

/* Returns at all: the reader never reads. Then it does, and hears what it has missed. */
Test(log, a_full_pipe_costs_lines_and_not_the_writer, .timeout = 60)
{
    struct tap tap = tap_open(LOG_LEVEL_INFO, false);
    for (int i = 0; i < 5000; i++)
        log_write(tap.log, LOG_LEVEL_INFO, "a line that nobody reads, and another, and another",
                  NULL);
    char *missed = tap_read(&tap);
    cr_expect_null(strstr(missed, "were lost"));
    size_t written = 0;
    for (const char *c = missed; *c; c++)
        written += *c == '\n';
    cr_assert_lt(written, 5000);
    log_write(tap.log, LOG_LEVEL_INFO, "after", NULL);
    char *text = tap_read(&tap);
    const char *report = strstr(text, "warning: log lines were lost");
    cr_assert_not_null(report, "%s", text);
    size_t lost = strtoul(strstr(report, "lines=") + strlen("lines="), NULL, 10);
    cr_expect_eq(lost, 5000 - written);
    cr_expect_not_null(strstr(report, "info: after\n"));
    free(text);
    free(missed);
    tap_close(&tap);
}

Test(log, a_reader_that_is_gone_does_no_harm)
{
    signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    struct tap tap = tap_open(LOG_LEVEL_INFO, false);
    close(tap.read_fd);
    tap.read_fd = open("/dev/null", O_RDONLY);
    log_write(tap.log, LOG_LEVEL_INFO, "a", NULL);
    log_write(tap.log, LOG_LEVEL_INFO, "b", NULL);
    tap_close(&tap);
}

Test(log, free_accepts_null)
{
    log_free(NULL);
}

#define THREADS 4
#define LINES 300

static void *write_lines(void *context)
{
    struct log *log = context;
    for (uint64_t i = 0; i < LINES; i++)
        log_write(log, LOG_LEVEL_INFO, "from a thread",
                  (struct log_field[]){ log_uint("line", i), log_text("end", "x"), log_end() });
    return NULL;
}

Test(log, lines_of_threads_never_mix)
{
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    struct log_options options = { .fd = fileno(file), .level = LOG_LEVEL_INFO };
    struct log *log;
    struct error err = { 0 };
    cr_assert_eq(log_new(&options, &log, &err), 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, write_lines, log), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    log_free(log);
    rewind(file);
    char line[256], rest[16];
    size_t lines = 0;
    unsigned number;
    while (fgets(line, sizeof line, file)) {
        lines++;
        cr_expect_eq(sscanf(line, "%*s info: from a thread line=%u end=x%15s", &number, rest), 1,
                     "%s", line);
    }
    cr_expect_eq(lines, THREADS * LINES);
    fclose(file);
}
