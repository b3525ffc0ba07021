#include "kernels/profile/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "kernels/profile/fail.h"

const char profile_usage[] =
    "usage: ballast-profile --layers N --hidden N --heads N --kv-heads N --ffn N --vocab N\n"
    "                       [OPTION...]\n"
    "\n"
    "Measures attention and GEMMs on the GPU and writes a cost table for ballastd.\n"
    "\n"
    "  --head-dim N       width of a head: 64 or 128 (default: hidden / heads)\n"
    "  --type T           bf16 or fp16 (default: bf16)\n"
    "  --path P           kernels: auto, mma or wgmma (default: auto)\n"
    "  --tp N,...         sizes of tensor parallelism (default: 1)\n"
    "  --cp N,...         sizes of context parallelism (default: 1,2,4,8)\n"
    "  --passes P         training, forward and backward, or forward (default: training)\n"
    "  --tflops X         rate of the GEMMs per GPU, instead of measuring them by cuBLAS\n"
    "  --linear-tokens N  tokens of the GEMMs (default: 8192)\n"
    "  --q A:B            query lengths of the grid, doubling from A to B (default: 16:4096)\n"
    "  --kv A:B           key lengths of the grid and documents (default: 128:131072)\n"
    "  --waves N          how often the tiles of a launch fill the GPU (default: 4)\n"
    "  --repeats N        launches whose median counts (default: 10)\n"
    "  --memory GIB       device memory for tensors (default: nine tenths of what is free)\n"
    "  --lengths FILE     document lengths, one a line, for packs that the fit is checked on\n"
    "  --window N         tokens of such a pack (default: 131072)\n"
    "  --packs N          how many of them for each tp and cp (default: 8)\n"
    "  --out FILE         the cost table (default: standard output)\n"
    "  --grid FILE        the grid as CSV\n"
    "  --version, --help\n";

enum profile_option {
    OPTION_LAYERS,
    OPTION_HIDDEN,
    OPTION_HEADS,
    OPTION_KV_HEADS,
    OPTION_FFN,
    OPTION_VOCAB,
    OPTION_HEAD_DIM,
    OPTION_TYPE,
    OPTION_PATH,
    OPTION_TP,
    OPTION_CP,
    OPTION_PASSES,
    OPTION_TFLOPS,
    OPTION_LINEAR_TOKENS,
    OPTION_Q,
    OPTION_KV,
    OPTION_WAVES,
    OPTION_REPEATS,
    OPTION_MEMORY,
    OPTION_LENGTHS,
    OPTION_WINDOW,
    OPTION_PACKS,
    OPTION_OUT,
    OPTION_GRID,
    OPTION_VERSION,
    OPTION_HELP,
};

/* In the order of `enum profile_option`, which is the index of each. */
static const struct option long_options[] = {
    { "layers", required_argument, NULL, OPTION_LAYERS },
    { "hidden", required_argument, NULL, OPTION_HIDDEN },
    { "heads", required_argument, NULL, OPTION_HEADS },
    { "kv-heads", required_argument, NULL, OPTION_KV_HEADS },
    { "ffn", required_argument, NULL, OPTION_FFN },
    { "vocab", required_argument, NULL, OPTION_VOCAB },
    { "head-dim", required_argument, NULL, OPTION_HEAD_DIM },
    { "type", required_argument, NULL, OPTION_TYPE },
    { "path", required_argument, NULL, OPTION_PATH },
    { "tp", required_argument, NULL, OPTION_TP },
    { "cp", required_argument, NULL, OPTION_CP },
    { "passes", required_argument, NULL, OPTION_PASSES },
    { "tflops", required_argument, NULL, OPTION_TFLOPS },
    { "linear-tokens", required_argument, NULL, OPTION_LINEAR_TOKENS },
    { "q", required_argument, NULL, OPTION_Q },
    { "kv", required_argument, NULL, OPTION_KV },
    { "waves", required_argument, NULL, OPTION_WAVES },
    { "repeats", required_argument, NULL, OPTION_REPEATS },
    { "memory", required_argument, NULL, OPTION_MEMORY },
    { "lengths", required_argument, NULL, OPTION_LENGTHS },
    { "window", required_argument, NULL, OPTION_WINDOW },
    { "packs", required_argument, NULL, OPTION_PACKS },
    { "out", required_argument, NULL, OPTION_OUT },
    { "grid", required_argument, NULL, OPTION_GRID },
    { "version", no_argument, NULL, OPTION_VERSION },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

/* The option being read, for errors. */
struct reader {
    const char *name, *value;
    ballast_attention_error *error;
};

static int refuse(const struct reader *reader, const char *expected)
{
    return profile_fail(reader->error, EX_USAGE, "--%s: found '%.40s', expected %s", reader->name,
                        reader->value, expected);
}

/* A whole number of 1 to `most` at *text, behind which *text is moved. */
static bool take_number(const char **text, unsigned long most, uint32_t *ret_number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    unsigned long number = strtoul(*text, &end, 10);
    if (errno || number < 1 || number > most)
        return false;
    *ret_number = (uint32_t)number;
    *text = end;
    return true;
}

static int read_number(const struct reader *reader, uint32_t most, uint32_t *ret_number)
{
    const char *text = reader->value;
    if (take_number(&text, most, ret_number) && !*text)
        return 0;
    return refuse(reader, "a whole number from 1 on");
}

static int read_sizes(const struct reader *reader, struct profile_sizes *ret_sizes)
{
    struct profile_sizes sizes = { 0 };
    for (const char *text = reader->value;; text++) {
        if (sizes.count == PROFILE_MAX_SIZES ||
            !take_number(&text, 1024, &sizes.items[sizes.count]))
            break;
        sizes.count++;
        if (!*text) {
            *ret_sizes = sizes;
            return 0;
        }
        if (*text != ',')
            break;
    }
    return refuse(reader, "up to 16 numbers from 1 to 1024, as in 1,2,4");
}

static int read_range(const struct reader *reader, struct profile_range *ret_range)
{
    struct profile_range range;
    const char *text = reader->value;
    if (take_number(&text, 1ul << 24, &range.first) && *text++ == ':' &&
        take_number(&text, 1ul << 24, &range.last) && !*text && range.first <= range.last) {
        *ret_range = range;
        return 0;
    }
    return refuse(reader, "two lengths up to 2^24, the smaller first, as in 16:4096");
}

static int read_rate(const struct reader *reader, double *ret_rate)
{
    char *end;
    double rate = strtod(reader->value, &end);
    if (*reader->value && !*end && rate > 0 && rate < 1e6) {
        *ret_rate = rate;
        return 0;
    }
    return refuse(reader, "TFLOP/s, as in 620");
}

/* The index of the value among NULL-ended `words`. */
static int read_word(const struct reader *reader, const char *const words[], const char *expected,
                     int *ret_index)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], reader->value) != 0)
            continue;
        *ret_index = i;
        return 0;
    }
    return refuse(reader, expected);
}

static int read_type(const struct reader *reader, ballast_attention_type *ret_type)
{
    static const char *const words[] = { "bf16", "fp16", NULL };
    int index = 0;
    int status = read_word(reader, words, "bf16 or fp16", &index);
    if (!status)
        *ret_type = index == 0 ? BALLAST_ATTENTION_BF16 : BALLAST_ATTENTION_F16;
    return status;
}

static int read_path(const struct reader *reader, ballast_attention_path *ret_path)
{
    static const char *const words[] = { "auto", "mma", "wgmma", NULL };
    static const ballast_attention_path paths[] = { BALLAST_ATTENTION_PATH_AUTO,
                                                    BALLAST_ATTENTION_PATH_MMA,
                                                    BALLAST_ATTENTION_PATH_WGMMA };
    int index = 0;
    int status = read_word(reader, words, "auto, mma or wgmma", &index);
    if (!status)
        *ret_path = paths[index];
    return status;
}

static int read_passes(const struct reader *reader, bool *ret_training)
{
    static const char *const words[] = { "forward", "training", NULL };
    int index = 0;
    int status = read_word(reader, words, "training or forward", &index);
    if (!status)
        *ret_training = index == 1;
    return status;
}

/* What describes the model. */
static int read_model(const struct reader *reader, int option, struct profile_model *model)
{
    uint32_t *const fields[] = {
        [OPTION_LAYERS] = &model->layers,     [OPTION_HIDDEN] = &model->hidden,
        [OPTION_HEADS] = &model->heads,       [OPTION_KV_HEADS] = &model->kv_heads,
        [OPTION_FFN] = &model->ffn,           [OPTION_VOCAB] = &model->vocab,
        [OPTION_HEAD_DIM] = &model->head_dim,
    };
    return read_number(reader, 1u << 24, fields[option]);
}

/* How to measure. */
static int read_method(const struct reader *reader, int option, struct profile_options *options)
{
    uint32_t gib = 0;
    int status;
    switch (option) {
    case OPTION_WAVES:
        return read_number(reader, 1000, &options->waves);
    case OPTION_REPEATS:
        return read_number(reader, 1000, &options->repeats);
    case OPTION_PACKS:
        return read_number(reader, 1000, &options->packs);
    case OPTION_WINDOW:
        return read_number(reader, 1u << 24, &options->window);
    case OPTION_LINEAR_TOKENS:
        return read_number(reader, 1u << 24, &options->linear_tokens);
    case OPTION_TFLOPS:
        return read_rate(reader, &options->tflops);
    case OPTION_Q:
        return read_range(reader, &options->q);
    case OPTION_KV:
        return read_range(reader, &options->kv);
    default: /* OPTION_MEMORY */
        status = read_number(reader, 4096, &gib);
        options->memory_gib = gib;
        return status;
    }
}

static int read_option(const struct reader *reader, int option, struct profile_options *options)
{
    switch (option) {
    case OPTION_TYPE:
        return read_type(reader, &options->type);
    case OPTION_PATH:
        return read_path(reader, &options->path);
    case OPTION_PASSES:
        return read_passes(reader, &options->training);
    case OPTION_TP:
        return read_sizes(reader, &options->tp);
    case OPTION_CP:
        return read_sizes(reader, &options->cp);
    case OPTION_LENGTHS:
        options->lengths = reader->value;
        return 0;
    case OPTION_OUT:
        options->table = reader->value;
        return 0;
    case OPTION_GRID:
        options->grid = reader->value;
        return 0;
    case OPTION_HELP:
        options->action = PROFILE_HELP;
        return 0;
    case OPTION_VERSION:
        options->action = PROFILE_VERSION;
        return 0;
    default:
        return option <= OPTION_HEAD_DIM ? read_model(reader, option, &options->model)
                                         : read_method(reader, option, options);
    }
}

/* What must be there, and what must fit together. */
static int check(struct profile_options *options, ballast_attention_error *error)
{
    struct profile_model *model = &options->model;
    const struct {
        const char *name;
        uint32_t value;
    } needed[] = { { "layers", model->layers }, { "hidden", model->hidden },
                   { "heads", model->heads },   { "kv-heads", model->kv_heads },
                   { "ffn", model->ffn },       { "vocab", model->vocab } };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].value)
            return profile_fail(error, EX_USAGE, "--%s is missing: see --help", needed[i].name);
    if (model->heads % model->kv_heads)
        return profile_fail(error, EX_USAGE,
                            "--kv-heads: found %u, expected a divisor of the %u heads",
                            model->kv_heads, model->heads);
    if (!model->head_dim)
        model->head_dim = model->hidden / model->heads;
    for (uint32_t i = 0; i < options->tp.count; i++)
        if (model->heads % options->tp.items[i])
            return profile_fail(error, EX_USAGE, "--tp: found %u, expected a divisor of %u heads",
                                options->tp.items[i], model->heads);
    return 0;
}

int profile_options_parse(int argc, char *argv[], struct profile_options *ret_options,
                          ballast_attention_error *error)
{
    struct profile_options options = {
        .tp = { { 1 }, 1 },
        .cp = { { 1, 2, 4, 8 }, 4 },
        .q = { 16, 4096 },
        .kv = { 128, 131072 },
        .repeats = 10,
        .waves = 4,
        .packs = 8,
        .window = 131072,
        .linear_tokens = 8192,
        .training = true,
    };
    int index = 0;
    optind = 0; /* so that tests may parse twice */
    opterr = 0;
    for (;;) {
        int option = getopt_long(argc, argv, "", long_options, &index);
        if (option < 0)
            break;
        if (option == '?')
            return profile_fail(error, EX_USAGE, "%.40s: unknown, or without its value: see --help",
                                argv[optind - 1]);
        struct reader reader = { long_options[option].name, optarg, error };
        int status = read_option(&reader, option, &options);
        if (status)
            return status;
    }
    if (optind < argc)
        return profile_fail(error, EX_USAGE, "found '%.40s', expected options only: see --help",
                            argv[optind]);
    int status = options.action == PROFILE_MEASURE ? check(&options, error) : 0;
    if (!status)
        *ret_options = options;
    return status;
}
