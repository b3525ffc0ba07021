#include "config/beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *path_beside(const char *configuration, const char *path)
{
    char *directory = *path == '/' ? NULL : realpath(configuration, NULL);
    if (!directory)
        return strdup(path);
    *strrchr(directory, '/') = 0;
    size_t bytes = strlen(directory) + strlen(path) + 2;
    char *joined = malloc(bytes);
    if (joined)
        snprintf(joined, bytes, "%s/%s", directory, path);
    free(directory);
    return joined;
}
