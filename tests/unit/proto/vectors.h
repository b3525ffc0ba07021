/* Reads the golden vectors, tests/unit/proto/vectors.txt; its head explains the lines. */
#ifndef BALLAST_TESTS_VECTORS_H
#define BALLAST_TESTS_VECTORS_H

#include <stddef.h>

#define VECTOR_MAX_BYTES 2048

struct vector {
    char kind[8], name[48];
    char extra[24]; /* checksum of a `frame`, status of a `reject`, else empty */
    unsigned char bytes[VECTOR_MAX_BYTES];
    size_t count;
};

struct vectors {
    struct vector *items;
    size_t count;
};

/* Fails the test that calls it when the file cannot be read. The caller frees with vectors_fini. */
struct vectors vectors_read(void);
void vectors_fini(struct vectors *vectors);

/* The vector of that kind and name; fails the test when there is none. */
const struct vector *vectors_find(const struct vectors *vectors, const char *kind,
                                  const char *name);

#endif
