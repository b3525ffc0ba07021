/*
 * TFLOP/s of the kernels: speed [--tiny]. One line between tabs for each case, path and pass:
 *     result  CASE  PATH  PASS  MICROSECONDS  TFLOP/S
 * and one for each case that says what flash.py has to run for the same work:
 *     case  CASE  HEADS  KV-HEADS  HEAD-DIM  Q:KV,Q:KV,...
 * q rows at the end of kv keys, causal. Operations are 4 x head_dim x query heads x pairs forward,
 * 2.5 times that backward. bf16, the median of ten.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "kernels/profile/device.h"
#include "kernels/profile/measure.h"
#include "kernels/profile/pack.h"

#define FORWARD_FLOPS 4.0
#define BACKWARD_FLOPS (2.5 * FORWARD_FLOPS)

struct speed_case {
    const char *name;
    uint32_t heads, kv_heads, head_dim, cp;
    const uint32_t *lengths; /* ends with 0 */
};

/* Drawn once from documents of the usual kind: most are short, the longest holds a quarter. */
static const uint32_t packed[] = { 3227, 411,  1904, 5784, 2210, 26070, 968,  3340, 127,
                                   7120, 1515, 2893, 640,  4406, 19233, 3012, 88,   2745,
                                   5031, 1277, 3658, 9450, 505,  4024,  1802, 0 };
static const uint32_t dense[] = { 16384, 0 };
static const uint32_t long_one[] = { 131072, 0 };
static const uint32_t tiny[] = { 96, 40, 0 };

static const struct speed_case cases[] = {
    { "dense 16K, 16 heads", 16, 16, 128, 1, dense },
    { "dense 16K, 32/8 heads", 32, 8, 128, 1, dense },
    { "packed 112K, 32/8 heads", 32, 8, 128, 1, packed },
    { "CP 8 of packed 112K, 32/8 heads", 32, 8, 128, 8, packed },
    { "CP 8 of one 128K, 32/8 heads", 32, 8, 128, 8, long_one },
};
static const struct speed_case tiny_cases[] = { { "tiny", 2, 1, 64, 1, tiny },
                                                { "tiny CP 2", 2, 1, 64, 2, tiny } };

static const struct {
    const char *name;
    ballast_attention_path path;
} paths[] = { { "mma", BALLAST_ATTENTION_PATH_MMA }, { "wgmma", BALLAST_ATTENTION_PATH_WGMMA } };

static void print_case(const struct speed_case *c, const struct profile_pack *pack)
{
    printf("case\t%s\t%u\t%u\t%u\t", c->name, c->heads, c->kv_heads, c->head_dim);
    for (uint32_t i = 0; i < pack->chunk_count; i++)
        printf("%s%u:%u", i ? "," : "", pack->chunks[i].length,
               pack->chunks[i].start + pack->chunks[i].length);
    putchar('\n');
}

static void print_result(const struct speed_case *c, const char *path, const char *pass, double us,
                         double flops)
{
    printf("result\t%s\t%s\t%s\t%.1f\t%.1f\n", c->name, path, pass, us, flops / us / 1e6);
}

/* Measures a case on one path; a path that this device lacks is passed over. */
static int measure_path(const struct speed_case *c, const struct profile_pack *pack,
                        struct profile_measure *measure, size_t path,
                        ballast_attention_error *error)
{
    struct profile_measured measured;
    measure->layout.path = paths[path].path;
    int status = profile_measure_pack(measure, pack, &measured, error);
    if (status == EX_UNAVAILABLE && measure->layout.path != BALLAST_ATTENTION_PATH_MMA) {
        fprintf(stderr, "%s: %s\n", paths[path].name, error->text);
        return 0;
    }
    if (status)
        return status;
    double unit = (double)measured.pairs * c->head_dim;
    print_result(c, paths[path].name, "forward", measured.forward.us, FORWARD_FLOPS * unit);
    print_result(c, paths[path].name, "backward", measured.backward.us, BACKWARD_FLOPS * unit);
    return 0;
}

static int measure_case(const struct speed_case *c, struct profile_measure *measure,
                        ballast_attention_error *error)
{
    struct profile_pack pack = { 0 };
    uint32_t dealer = 0;
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.heads = c->heads;
    layout.kv_heads = c->kv_heads;
    layout.head_dim = c->head_dim;
    measure->layout = layout;
    for (const uint32_t *length = c->lengths; *length; length++)
        if (!profile_pack_add_share(&pack, *length, c->cp, 0, &dealer))
            return EX_OSERR;
    print_case(c, &pack);
    int status = 0;
    for (size_t path = 0; !status && path < sizeof paths / sizeof *paths; path++)
        status = measure_path(c, &pack, measure, path, error);
    profile_pack_fini(&pack);
    fflush(stdout);
    return status;
}

int main(int argc, char *argv[])
{
    bool is_tiny = argc > 1 && !strcmp(argv[1], "--tiny");
    const struct speed_case *first = is_tiny ? tiny_cases : cases;
    size_t count = is_tiny ? sizeof tiny_cases / sizeof *tiny_cases : sizeof cases / sizeof *cases;
    ballast_attention_error error = { "" };
    struct profile_measure measure = { .repeats = is_tiny ? 1 : 10, .backward = true };
    int status = profile_device_open(&measure.device, &error);
    for (size_t i = 0; !status && i < count; i++)
        status = measure_case(&first[i], &measure, &error);
    if (status)
        fprintf(stderr, "speed: %s\n", error.text);
    profile_device_close(measure.device);
    return status;
}
