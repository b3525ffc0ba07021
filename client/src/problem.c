#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

ballast_status problem_set(struct problem *problem, ballast_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    problem->status = status;
    return status;
}

void problem_clear(struct problem *problem)
{
    problem->status = BALLAST_OK;
    problem->text[0] = '\0';
}
