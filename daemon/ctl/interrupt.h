/* Interrupts, for a command that must tidy up before it ends by one. One per process. */
#ifndef BALLAST_CTL_INTERRUPT_H
#define BALLAST_CTL_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP are noted instead of ending the process. */
void interrupt_catch(void);

bool interrupt_came(void);

/* Ends the process by the signal that came, as it would have at once; returns if none did. */
void interrupt_deliver(void);

#endif
