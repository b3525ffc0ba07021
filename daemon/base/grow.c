#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool grow_bytes(void *array_address, size_t *capacity, size_t wanted, size_t item_bytes)
{
    size_t room = *capacity < 16 ? 16 : *capacity;
    while (room < wanted) {
        if (room > SIZE_MAX / 2)
            return false;
        room *= 2;
    }
    if (room > SIZE_MAX / item_bytes)
        return false;
    void *array;
    memcpy(&array, array_address, sizeof array);
    void *moved = realloc(array, room * item_bytes);
    if (!moved)
        return false;
    memcpy(array_address, &moved, sizeof moved);
    *capacity = room;
    return true;
}
