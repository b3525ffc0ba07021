/* One message of each type and shape with fixed values: the `accept` lines of vectors.txt. */
#ifndef BALLAST_TESTS_SAMPLES_H
#define BALLAST_TESTS_SAMPLES_H

#include <stddef.h>

#include "wire/frame.h"

struct sample {
    const char *name;
    enum wire_type type;
    const ProtobufCMessage *message;
};

extern const struct sample samples[];
extern const size_t sample_count;

#endif
