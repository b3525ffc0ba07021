#include "base/json_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static _Thread_local bool incomplete;

void json_put(json_t *object, const char *key, json_t *value)
{
    incomplete |= json_object_set_new(object, key, value) != 0;
}

void json_push(json_t *array, json_t *value)
{
    incomplete |= json_array_append_new(array, value) != 0;
}

struct sink {
    char *bytes;
    size_t count, capacity;
    bool failed;
};

/* jansson does not look at every result: what failed once has failed. */
static int take(const char *bytes, size_t count, void *context)
{
    struct sink *sink = context;
    if (sink->failed || !grow(sink->bytes, &sink->capacity, sink->count + count + 1)) {
        sink->failed = true;
        return -1;
    }
    memcpy(sink->bytes + sink->count, bytes, count);
    sink->count += count;
    sink->bytes[sink->count] = '\0';
    return 0;
}

char *json_text(json_t *value, size_t flags)
{
    struct sink sink = { 0 };
    bool whole = value && !incomplete && json_dump_callback(value, take, &sink, flags) == 0;
    json_decref(value);
    incomplete = false;
    if (whole && !sink.failed)
        return sink.bytes;
    free(sink.bytes);
    return NULL;
}
