#include "ctl/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/clock.h"

static bool wants_colour(void)
{
    const char *no_color = getenv("NO_COLOR");
    if (no_color && *no_color)
        return false;
    const char *terminal = getenv("TERM");
    return terminal && strcmp(terminal, "dumb") != 0;
}

void output_init(struct output *out, FILE *stream)
{
    bool terminal = isatty(fileno(stream));
    *out = (struct output){
        .stream = stream,
        .terminal = terminal,
        .colour = terminal && wants_colour(),
    };
}

void output_print(struct output *out, const char *format, ...)
{
    if (out->failure)
        return;
    va_list args;
    va_start(args, format);
    if (vfprintf(out->stream, format, args) < 0)
        out->failure = errno;
    va_end(args);
}

void output_safe(struct output *out, const char *text)
{
    for (; *text && !out->failure; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte == 0x7f)
            byte = '?';
        if (putc(byte, out->stream) == EOF)
            out->failure = errno;
    }
}

void output_style(struct output *out, enum style style)
{
    static const char *const sequences[] = {
        [STYLE_PLAIN] = "\033[0m",    [STYLE_TITLE] = "\033[1m", [STYLE_GOOD] = "\033[32m",
        [STYLE_WARNING] = "\033[33m", [STYLE_BAD] = "\033[31m",  [STYLE_FAINT] = "\033[2m",
    };
    if (out->colour)
        output_print(out, "%s", sequences[style]);
}

int output_flush(struct output *out, struct error *err)
{
    if (!out->failure && fflush(out->stream))
        out->failure = errno;
    if (!out->failure)
        return 0;
    if (out->failure == EPIPE)
        return EX_IOERR;
    return error_set(err, EX_IOERR, "cannot write the output: %s", strerror(out->failure));
}

bool output_wait(const struct output *out, uint64_t milliseconds)
{
    uint64_t due = clock_ms() + milliseconds;
    for (uint64_t now = clock_ms(); now < due; now = clock_ms()) {
        struct pollfd pipe = { .fd = fileno(out->stream) };
        uint64_t left = due - now;
        poll(&pipe, 1, left > INT_MAX ? INT_MAX : (int)left);
        if (pipe.revents & (POLLERR | POLLHUP | POLLNVAL))
            return false;
    }
    return true;
}

void output_clear_screen(struct output *out)
{
    if (out->terminal)
        output_print(out, "\033[H\033[2J");
}

void output_guard_descriptors(void)
{
    /* Read-only for output too: a write then fails with EBADF, as on the closed descriptor. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            _exit(EX_OSERR);
}
