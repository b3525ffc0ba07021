#include "cost/cost.h"

#include <math.h>

/* Fixed point of `crossover_tokens`: workload of one token. */
#define TOKEN_UNITS 1024u

/* Backward costs twice the forward of a GEMM, and two and a half times that of attention. */
#define LINEAR_PASSES 3.0
#define ATTENTION_PASSES 3.5

/* A picosecond per token, or per squared token, over this is no machine's figure. */
#define LARGEST_LINEAR 0x1p36
#define LARGEST_QUADRATIC 0x1p48

static int from_crossover(struct cost_model *model, uint64_t crossover, struct error *err)
{
    if (crossover > UINT64_C(1) << 40)
        return error_set(err, EX_CONFIG,
                         "cost.crossover_tokens: %llu is out of range, expected 1 to 2^40 tokens",
                         (unsigned long long)crossover);
    uint64_t one = (uint64_t)TOKEN_UNITS << COST_FRACTION_BITS;
    model->linear = TOKEN_UNITS;
    model->quadratic = (one + crossover / 2) / crossover;
    model->crossover_tokens = (double)crossover;
    model->unit = "token/1024";
    return 0;
}

/* Floating-point operations of one token in one forward pass, attention aside. */
static double linear_flops(const struct cost_shape *shape)
{
    double hidden = shape->hidden, kv = hidden * shape->kv_heads / shape->heads;
    double attention_projections = 2 * hidden * hidden + 2 * hidden * kv;
    double gated_mlp = 3 * hidden * shape->ffn;
    double layers = shape->layers * 2 * (attention_projections + gated_mlp);
    return layers + 2 * hidden * shape->vocab;
}

/* Of one squared token: scores and values, half of the square because attention is causal. */
static double attention_flops(const struct cost_shape *shape)
{
    return shape->layers * 2.0 * shape->hidden;
}

static int from_shape(struct cost_model *model, const struct cost_shape *shape, struct error *err)
{
    if (!shape->hidden || !shape->heads || !shape->kv_heads || !shape->ffn || !shape->vocab ||
        !shape->tp || !(shape->tflops > 0) || shape->kv_heads > shape->heads)
        return error_set(err, EX_CONFIG,
                         "cost.model: layers, hidden, heads, kv_heads, ffn, vocab, tp and tflops "
                         "must all be greater than 0, and kv_heads at most heads");
    double flops_per_ps = shape->tflops * shape->tp; /* 1 TFLOP/s is 1 FLOP per picosecond */
    double linear = LINEAR_PASSES * linear_flops(shape) / flops_per_ps;
    double quadratic = ATTENTION_PASSES * attention_flops(shape) / flops_per_ps;
    double scaled = ldexp(quadratic, COST_FRACTION_BITS);
    if (!(linear >= 1) || !(linear <= LARGEST_LINEAR) || !(scaled >= 1) ||
        !(scaled <= LARGEST_QUADRATIC))
        return error_set(err, EX_CONFIG,
                         "cost.model: predicts %.3g ps a token and %.3g ps a squared token, which "
                         "no machine needs: check the figures, tflops above all",
                         linear, quadratic);
    model->linear = (uint64_t)llround(linear);
    model->quadratic = (uint64_t)llround(scaled);
    model->crossover_tokens = linear / quadratic;
    model->unit = "ps";
    return 0;
}

int cost_model_init(struct cost_model *model, const struct cost_options *options, struct error *err)
{
    bool crossover = options->crossover_tokens > 0, shape = options->model.layers > 0;
    if (crossover == shape)
        return error_set(err, EX_CONFIG,
                         "cost: expected exactly one of crossover_tokens and model, found %s: give "
                         "for example cost: { crossover_tokens: 24576 }",
                         crossover ? "both" : "neither");
    return crossover ? from_crossover(model, options->crossover_tokens, err)
                     : from_shape(model, &options->model, err);
}

bool cost_fits(const struct cost_model *model, uint32_t window, uint32_t max_tokens)
{
    wide piece = (wide)model->quadratic * ((uint64_t)window * window) >> COST_FRACTION_BITS;
    wide pieces = (wide)max_tokens / window + 1;
    return piece * pieces + (wide)model->linear * max_tokens < (wide)1 << 63;
}
