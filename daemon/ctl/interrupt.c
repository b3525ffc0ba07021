#include "ctl/interrupt.h"

#include <signal.h>
#include <stddef.h>

static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t came;

static void note(int number)
{
    came = number;
}

void interrupt_catch(void)
{
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        struct sigaction before;
        struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESTART };
        /* What the caller ignores, as nohup does, stays ignored. */
        if (!sigaction(caught[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    }
}

bool interrupt_came(void)
{
    return came != 0;
}

void interrupt_deliver(void)
{
    if (!came)
        return;
    signal(came, SIG_DFL);
    raise(came);
}
