/* The section `access`: its files' places, and which sockets may do without CURVE. */
#ifndef BALLAST_CONFIG_ACCESS_H
#define BALLAST_CONFIG_ACCESS_H

#include "config/config.h"
#include "config/document.h"

/* Makes relative paths start at the directory of the document's file. EX_OSERR. */
int config_place_access(const struct document *document, struct config *config, struct error *err);

/*
 * Refuses half a pair of files, and endpoints that others can reach without CURVE unless
 * allow_plaintext says so. EX_CONFIG with what to write.
 */
int check_access(const struct document *document, const struct config *config, struct error *err);

#endif
