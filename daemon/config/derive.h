/* Defaults: constant ones go into the document, those that follow from other values come later. */
#ifndef BALLAST_CONFIG_DERIVE_H
#define BALLAST_CONFIG_DERIVE_H

#include "config/config.h"
#include "config/document.h"

/* Adds every key with a constant default (keys.h) that the document lacks. EX_OSERR. */
int derive_document(struct document *document, struct error *err);

/*
 * Takes `outlier_thresholds: auto` out of the document, because libcyaml knows no list that may be
 * a word. Returns whether it was there.
 */
bool derive_take_auto(struct document *document);

/* Fills in what config.h derives: S_max, thresholds, the rest of cost.model, ranks. EX_OSERR. */
int derive_config(struct config *config, struct error *err);

#endif
