/* What a mistyped word was probably meant to be. */
#ifndef BALLAST_CTL_SUGGEST_H
#define BALLAST_CTL_SUGGEST_H

#include <stddef.h>

/* Letters to insert, delete, replace or swap with a neighbour to turn one word into the other. */
size_t edit_distance(const char *a, const char *b);

/* Keeps in *best the nearest of the words shown to it so far, NULL while none is near enough. */
struct suggestion {
    const char *typed, *best;
    size_t distance; /* of best */
};

void suggestion_init(struct suggestion *suggestion, const char *typed);
void suggestion_offer(struct suggestion *suggestion, const char *word);

#endif
