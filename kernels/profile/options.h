/* The command line of ballast-profile(1). */
#ifndef BALLAST_PROFILE_OPTIONS_H
#define BALLAST_PROFILE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <ballast/attention.h>

#include "kernels/profile/gemm.h"
#include "kernels/profile/grid.h"

#define PROFILE_MAX_SIZES 16

/* Sizes of tensor or context parallelism to measure. */
struct profile_sizes {
    uint32_t items[PROFILE_MAX_SIZES];
    uint32_t count;
};

enum profile_action { PROFILE_MEASURE, PROFILE_HELP, PROFILE_VERSION };

struct profile_options {
    enum profile_action action;
    struct profile_model model;
    ballast_attention_type type;
    ballast_attention_path path;
    struct profile_sizes tp, cp;
    struct profile_range q, kv;
    uint32_t repeats, waves, packs, window, linear_tokens;
    uint64_t memory_gib; /* 0: most of what is free */
    double tflops;       /* of GEMMs; 0: measure them */
    bool training;
    const char *table, *grid, *lengths; /* paths, of argv; NULL: standard output, none, none */
};

extern const char profile_usage[];

/* 0 or EX_USAGE. *ret_options borrows from argv and is untouched on failure. */
int profile_options_parse(int argc, char *argv[], struct profile_options *ret_options,
                          ballast_attention_error *error);

#endif
