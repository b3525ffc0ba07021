#include "cost/cost.h"

#include <math.h>

#include "cost/device.h"

/* Fixed point of `crossover_tokens`: workload of one token. */
#define TOKEN_UNITS 1024u

/* Backward costs twice the forward of a GEMM, and two and a half times that of attention. */
#define LINEAR_PASSES 3.0
#define ATTENTION_PASSES 3.5

/* Collectives run as often backward as forward; a layer has two. */
#define COLLECTIVE_PASSES 2.0
#define LAYER_COLLECTIVES 2.0

/* More than any length: attention never costs as much as the rest. */
#define LARGEST_CROSSOVER 0x1p40

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

/* Both forms of a model in picoseconds, before they are checked and rounded. */
struct predicted {
    double linear, attention_token, attention_square;
};

static struct predicted predict_by_rate(const struct cost_shape *shape)
{
    double flops_per_ps = shape->tflops * shape->tp; /* 1 TFLOP/s is 1 FLOP per picosecond */
    return (struct predicted){ LINEAR_PASSES * linear_flops(shape) / flops_per_ps, 0,
                               ATTENTION_PASSES * attention_flops(shape) / flops_per_ps };
}

static struct predicted predict_by_device(const struct cost_shape *shape,
                                          const struct cost_device *device)
{
    double tp = shape->tp, values = (double)shape->layers * shape->hidden;
    double reduced = LAYER_COLLECTIVES * values * (tp - 1) / tp * device->reduced_value;
    double attention = ATTENTION_PASSES * values / tp;
    return (struct predicted){ LINEAR_PASSES * linear_flops(shape) / tp * device->flop +
                                   COLLECTIVE_PASSES * reduced,
                               attention * device->attention_token,
                               attention * device->attention_square };
}

static int check_shape(const struct cost_shape *shape, struct error *err)
{
    if (!shape->hidden || !shape->heads || !shape->kv_heads || !shape->ffn || !shape->vocab ||
        !shape->tp || shape->kv_heads > shape->heads)
        return error_set(err, EX_CONFIG,
                         "cost.model: layers, hidden, heads, kv_heads, ffn, vocab and tp must all "
                         "be greater than 0, and kv_heads at most heads");
    return 0;
}

static int predict(const struct cost_options *options, struct predicted *ret_predicted,
                   struct error *err)
{
    const struct cost_shape *shape = &options->model;
    if (!options->device) {
        if (!(shape->tflops > 0))
            return error_set(err, EX_CONFIG,
                             "cost.model: the key 'tflops' is missing: write for example tflops: "
                             "400, or name a device: cost: { device: h100, model: ... }");
        *ret_predicted = predict_by_rate(shape);
        return 0;
    }
    const struct cost_device *device = cost_device_find(options->device);
    if (!device)
        return error_set(err, EX_CONFIG, "cost.device: found %.40s, expected h100",
                         options->device);
    if (shape->tflops > 0)
        return error_set(err, EX_CONFIG,
                         "cost.model.tflops: found a rate, expected none: the device %s has its "
                         "own; leave out one of the two",
                         device->name);
    if (shape->tp > device->max_tp)
        return error_set(err, EX_CONFIG,
                         "cost.model.tp: found %u, expected at most %u, to which %s was measured: "
                         "give tflops in place of the device, or a table",
                         shape->tp, device->max_tp, device->name);
    *ret_predicted = predict_by_device(shape, device);
    return 0;
}

static int from_shape(struct cost_model *model, const struct cost_options *options,
                      struct error *err)
{
    struct predicted predicted = { 0 };
    int status = check_shape(&options->model, err);
    if (!status)
        status = predict(options, &predicted, err);
    if (status)
        return status;
    double scaled = ldexp(predicted.attention_square, COST_FRACTION_BITS);
    if (!(predicted.linear >= 1) || !(predicted.linear <= LARGEST_LINEAR) || !(scaled >= 1) ||
        !(scaled <= LARGEST_QUADRATIC))
        return error_set(err, EX_CONFIG,
                         "cost.model: predicts %.3g ps a token and %.3g ps a squared token, which "
                         "no machine needs: check the figures%s",
                         predicted.linear, predicted.attention_square,
                         options->device ? "" : ", tflops above all");
    model->linear = (uint64_t)llround(predicted.linear);
    model->quadratic = (uint64_t)llround(scaled);
    model->attention_linear =
        (uint64_t)llround(ldexp(predicted.attention_token, COST_FRACTION_BITS));
    model->crossover_tokens =
        (predicted.linear - predicted.attention_token) / predicted.attention_square;
    model->unit = "ps";
    return 0;
}

/*
 * Where attention begins to cost more than the rest for good: behind the last knot that lies below
 * the line of the rest. Before it, launch-bound lengths may lie above.
 */
static double crossover(const struct cost_table *table)
{
    const struct cost_curve *curve = &table->attention;
    double linear = (double)table->linear;
    uint32_t k = curve->count;
    while (--k > 0 && (double)curve->knots[k].at > linear * curve->knots[k].tokens)
        ;
    const struct cost_knot *knot = &curve->knots[k];
    /* at + x rise + x^2 bend = linear (tokens + x) */
    double bend = ldexp((double)knot->bend, -COST_FRACTION_BITS);
    double slope = ldexp((double)knot->rise, -COST_FRACTION_BITS) - linear;
    double gap = linear * knot->tokens - (double)knot->at;
    double x;
    if (bend > 0)
        x = (sqrt(slope * slope + 4 * bend * gap) - slope) / (2 * bend);
    else
        x = slope > 0 ? gap / slope : LARGEST_CROSSOVER;
    double tokens = knot->tokens + x;
    return tokens < LARGEST_CROSSOVER ? tokens : LARGEST_CROSSOVER;
}

static int from_table(struct cost_model *model, const struct cost_table *table)
{
    model->table = *table;
    model->linear = table->linear;
    model->cp = table->cp;
    model->crossover_tokens = crossover(table);
    model->unit = "ps";
    return 0;
}

int cost_model_init(struct cost_model *model, const struct cost_options *options, struct error *err)
{
    bool by_crossover = options->crossover_tokens > 0, by_shape = options->model.layers > 0;
    bool by_table = options->measured.attention.count > 0;
    int given = by_crossover + by_shape + by_table;
    if (given != 1)
        return error_set(err, EX_CONFIG,
                         "cost: expected exactly one of crossover_tokens, model and table, found "
                         "%s: give for example cost: { crossover_tokens: 24576 }",
                         given ? "several" : "none");
    if (options->device && !by_shape)
        return error_set(err, EX_CONFIG,
                         "cost.device: found no model, expected one: a device needs the figures "
                         "of the transformer, cost: { device: %.40s, model: ... }",
                         options->device);
    struct cost_model made = { .cp = 1 };
    int status = by_crossover ? from_crossover(&made, options->crossover_tokens, err)
                 : by_shape   ? from_shape(&made, options, err)
                              : from_table(&made, &options->measured);
    if (!status)
        *model = made;
    return status;
}

bool cost_fits(const struct cost_model *model, uint32_t window, uint32_t max_tokens)
{
    wide piece = cost_attention_wide(model, window);
    wide pieces = (wide)max_tokens / window + 1;
    return piece * pieces + (wide)model->linear * max_tokens < (wide)1 << 63;
}
