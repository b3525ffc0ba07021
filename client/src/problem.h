/* What went wrong: a status and one line for a person. */
#ifndef BALLAST_CLIENT_PROBLEM_H
#define BALLAST_CLIENT_PROBLEM_H

#include "ballast/ballast.h"

#define PROBLEM_TEXT_BYTES 384

struct problem {
    ballast_status status; /* BALLAST_OK: none */
    char text[PROBLEM_TEXT_BYTES];
};

/* Sets both; text that is too long is cut. Returns `status`. */
__attribute__((format(printf, 3, 4))) ballast_status problem_set(struct problem *problem,
                                                                 ballast_status status,
                                                                 const char *format, ...);

void problem_clear(struct problem *problem);

#endif
