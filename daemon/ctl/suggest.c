#include "ctl/suggest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LONGEST 32

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t edit_distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b);
    if (rows > LONGEST || columns > LONGEST)
        return SIZE_MAX;
    size_t cost[LONGEST + 1][LONGEST + 1];
    for (size_t j = 0; j <= columns; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        cost[i][0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t replace = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            cost[i][j] = least(replace, 1 + least(cost[i - 1][j], cost[i][j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped)
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[rows][columns];
}

void suggestion_init(struct suggestion *suggestion, const char *typed)
{
    *suggestion = (struct suggestion){ .typed = typed };
}

void suggestion_offer(struct suggestion *suggestion, const char *word)
{
    size_t length = strlen(suggestion->typed);
    bool begins = length >= 2 && !strncmp(word, suggestion->typed, length);
    size_t distance = begins ? 1 : edit_distance(suggestion->typed, word);
    /* More than a third of the letters wrong is another word, not a slip. */
    if (distance > 1 + strlen(word) / 4 || distance >= strlen(word))
        return;
    if (suggestion->best && distance >= suggestion->distance)
        return;
    suggestion->best = word;
    suggestion->distance = distance;
}
