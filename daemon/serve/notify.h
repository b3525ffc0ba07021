/* What the service manager is told (sd_notify). Does nothing without libsystemd, or without one. */
#ifndef BALLAST_SERVE_NOTIFY_H
#define BALLAST_SERVE_NOTIFY_H

#include <stdint.h>

/* Bound and able to answer. */
void notify_ready(const char *status);

/* Still starting: allow `allow_ms` more from now on. */
void notify_starting(const char *status, uint64_t allow_ms);

void notify_stopping(void);

/* How often, in ms, notify_alive is expected at least; 0: never. */
uint64_t notify_watchdog_ms(void);

void notify_alive(void);

#endif
