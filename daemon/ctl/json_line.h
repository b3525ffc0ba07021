/* JSON as scripts read it: one compact value a line. */
#ifndef BALLAST_CTL_JSON_LINE_H
#define BALLAST_CTL_JSON_LINE_H

#include <jansson.h>

#include "base/error.h"
#include "ctl/output.h"

/* A JSON string of any bytes: what is not UTF-8 becomes U+FFFD. NULL when out of memory. */
json_t *json_bytes(const char *text);

/*
 * Prints `value` on one line and drops the caller's reference. A NULL value, which is what jansson
 * makes of memory that ran out, is EX_OSERR.
 */
int json_line(struct output *out, json_t *value, struct error *err);

#endif
