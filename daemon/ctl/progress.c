#include "ctl/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl/clock.h"

#define REFRESH_MS 100

void progress_init(struct progress *progress)
{
    /* Not at once: a command that ends within the first interval shows no line at all. */
    *progress = (struct progress){
        .enabled = isatty(STDERR_FILENO),
        .due_ms = clock_ms() + REFRESH_MS,
    };
}

bool progress_due(struct progress *progress)
{
    return progress->enabled && clock_ms() >= progress->due_ms;
}

static int terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col == 0 ? 80 : size.ws_col;
}

void progress_show(struct progress *progress, const char *format, ...)
{
    if (!progress->enabled)
        return;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    /* A line that wraps could not be taken away again. */
    fprintf(stderr, "\r\033[K%.*s", terminal_columns() - 1, text);
    fflush(stderr);
    progress->shown = true;
    progress->due_ms = clock_ms() + REFRESH_MS;
}

void progress_clear(struct progress *progress)
{
    if (!progress->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->shown = false;
}

void progress_corpus(void *context, const char *path, uint64_t done, uint64_t total)
{
    struct progress *progress = context;
    if (progress_due(progress))
        progress_show(progress, "checking shards: %3.0f %%  %s",
                      total ? 100.0 * (double)done / (double)total : 100.0, path);
}
