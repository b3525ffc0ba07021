#include "serve/signals.h"

#include <signal.h>
#include <unistd.h>

static void exit_clean(int number)
{
    (void)number;
    _exit(0);
}

static void exit_hurried(int number)
{
    _exit(128 + number);
}

void signals_ignore(void)
{
    struct sigaction action = { .sa_handler = SIG_IGN };
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

void signals_exit_at_once(int clean)
{
    struct sigaction action = { .sa_handler = clean ? exit_clean : exit_hurried };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}
