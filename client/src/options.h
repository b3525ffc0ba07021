/* The caller's options, checked, copied and with every default filled in. */
#ifndef BALLAST_CLIENT_OPTIONS_H
#define BALLAST_CLIENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ballast/ballast.h"
#include "wire/key.h"

#define OPTIONS_MAX_PREFETCH 64u
#define OPTIONS_MAX_STEP ((uint64_t)INT64_MAX)

struct options {
    uint32_t dp_rank, cp_rank, pp_rank, tp_rank;
    char **endpoints; /* in the order given, at least one */
    size_t endpoint_count;
    char *job;                     /* "": any */
    uint64_t first_step, end_step; /* end_step is UINT64_MAX where none was given */
    uint32_t prefetch, retry_ms;
    bool digest_expected;
    uint8_t expected_digest[BALLAST_DIGEST_BYTES];
    ballast_allocator allocator;
    bool curve; /* the keys are there */
    char server_key[WIRE_KEY_BYTES], public_key[WIRE_KEY_BYTES], secret_key[WIRE_KEY_BYTES];
};

/* BALLAST_INVALID or BALLAST_NO_MEMORY; *ret_options is then left zeroed. */
ballast_status options_read(const ballast_options *caller, struct options *ret_options);

/* A zeroed struct is accepted, and left behind; keys are wiped. */
void options_fini(struct options *options);

#endif
