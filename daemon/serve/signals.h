/*
 * Signals outside the loop. Explicit handlers, because process 1 of a container has no defaults.
 * Thread: the main one.
 */
#ifndef BALLAST_SERVE_SIGNALS_H
#define BALLAST_SERVE_SIGNALS_H

/*
 * Ignores SIGPIPE and SIGXFSZ (writes to closed pipes and sockets, and to files as large as the
 * limit allows, return errors instead), and SIGHUP until the loop takes it over.
 */
void signals_ignore(void);

/*
 * From now on SIGTERM and SIGINT end the process at once: with status 0 when `clean` (there is
 * nothing to lose yet), else with 128 + signal (a second signal does not wait for the drain).
 */
void signals_exit_at_once(int clean);

#endif
