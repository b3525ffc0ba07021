#include "observe/log.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "observe/log_line.h"

/* How long a line waits for a reader; after one has waited in vain, the next ones do not. */
#define PATIENCE_MS 50

struct log {
    struct log_options options;
    bool journal;
    pthread_mutex_t lock; /* of all below, and of the order of lines */
    uint64_t lost;        /* lines since the last that was written */
};

/* systemd names the device and inode of the journal's stream, if standard error is that. */
static bool is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat status;
    if (!stream || fstat(fd, &status))
        return false;
    char *end;
    uintmax_t device = strtoumax(stream, &end, 10);
    if (*end != ':')
        return false;
    uintmax_t inode = strtoumax(end + 1, &end, 10);
    return !*end && device == status.st_dev && inode == status.st_ino;
}

int log_new(const struct log_options *options, struct log **ret_log, struct error *err)
{
    struct log *log = calloc(1, sizeof *log);
    if (!log)
        return error_memory(err, "opening the log");
    log->options = *options;
    log->journal = is_journal(options->fd);
    pthread_mutex_init(&log->lock, NULL);
    *ret_log = log;
    return 0;
}

void log_free(struct log *log)
{
    if (!log)
        return;
    pthread_mutex_destroy(&log->lock);
    free(log);
}

bool log_wants(const struct log *log, enum log_level level)
{
    return level <= log->options.level;
}

/* "2025-01-31T12:00:00.123Z" */
static const char *utc_now(char text[40])
{
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t used = strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + used, 40 - used, ".%03ldZ", now.tv_nsec / 1000000);
    return text;
}

static size_t journal_priority(enum log_level level, char *line)
{
    static const char *const prefixes[] = { "<3>", "<4>", "<6>", "<7>" };
    memcpy(line, prefixes[level], 3);
    return 3;
}

static size_t make_line(const struct log *log, enum log_level level, const char *text,
                        const struct log_field *fields, char line[LOG_LINE_BYTES])
{
    char time[40];
    struct log_message message = { log->journal ? NULL : utc_now(time), level, text, fields };
    size_t used = log->journal ? journal_priority(level, line) : 0;
    size_t room = LOG_LINE_BYTES - used;
    return used + (log->options.json ? log_line_json(&message, line + used, room)
                                     : log_line_text(&message, line + used, room));
}

/*
 * A pipe that polls as writable takes PIPE_BUF bytes at once, so the write does not block. The fd
 * is not made non-blocking: it is shared with whoever started us.
 */
static bool send_line(const struct log *log, const char *line, size_t bytes)
{
    struct pollfd poll_fd = { .fd = log->options.fd, .events = POLLOUT };
    while (bytes) {
        int ready = poll(&poll_fd, 1, log->lost ? 0 : PATIENCE_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || !(poll_fd.revents & POLLOUT))
            return false;
        ssize_t wrote = write(log->options.fd, line, bytes);
        if (wrote < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (wrote < 0)
            return false;
        line += wrote;
        bytes -= (size_t)wrote;
    }
    return true;
}

static void send_or_count(struct log *log, const char *line, size_t bytes)
{
    if (log->lost) {
        char report[LOG_LINE_BYTES];
        struct log_field fields[] = { log_uint("lines", log->lost), log_end() };
        size_t length = make_line(log, LOG_LEVEL_WARNING,
                                  "log lines were lost: nobody read them in time", fields, report);
        if (!send_line(log, report, length)) {
            log->lost++;
            return;
        }
        log->lost = 0;
    }
    if (!send_line(log, line, bytes))
        log->lost++;
}

void log_write(struct log *log, enum log_level level, const char *message,
               const struct log_field *fields)
{
    if (!log_wants(log, level))
        return;
    char line[LOG_LINE_BYTES];
    size_t bytes = make_line(log, level, message, fields, line);
    pthread_mutex_lock(&log->lock);
    send_or_count(log, line, bytes);
    pthread_mutex_unlock(&log->lock);
}
