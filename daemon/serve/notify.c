#include "serve/notify.h"

#ifdef BALLAST_HAVE_SYSTEMD

#include <systemd/sd-daemon.h>

void notify_ready(const char *status)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void notify_starting(const char *status, uint64_t allow_ms)
{
    sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%llu\nSTATUS=%s", (unsigned long long)allow_ms * 1000u,
               status);
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1\nSTATUS=draining");
}

uint64_t notify_watchdog_ms(void)
{
    uint64_t us = 0;
    return sd_watchdog_enabled(0, &us) > 0 ? us / 1000 : 0;
}

void notify_alive(void)
{
    sd_notify(0, "WATCHDOG=1");
}

#else

void notify_ready(const char *status)
{
    (void)status;
}

void notify_starting(const char *status, uint64_t allow_ms)
{
    (void)status;
    (void)allow_ms;
}

void notify_stopping(void)
{
}

uint64_t notify_watchdog_ms(void)
{
    return 0;
}

void notify_alive(void)
{
}

#endif
