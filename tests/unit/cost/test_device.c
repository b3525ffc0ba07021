/* The built-in device, against the published points that it was fitted to where they are at hand.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/cost.h"
#include "cost/device.h"

static char h100[] = "h100";

static const struct cost_shape llama_8b = {
    .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .ffn = 14336, .vocab = 1, .tp = 1
};

static struct cost_model model_of(struct cost_shape shape, const char *device)
{
    struct cost_options options = { .model = shape, .device = device ? h100 : NULL };
    struct cost_model model;
    struct error err = { 0 };
    cr_assert_eq(cost_model_init(&model, &options, &err), 0, "%s", err.text);
    return model;
}

Test(cost_device, scales_with_the_model_and_tp)
{
    struct cost_shape shape = llama_8b;
    struct cost_model one = model_of(shape, "h100");
    shape.layers = 64;
    struct cost_model twice = model_of(shape, "h100");
    cr_expect_float_eq((double)cost_piece(&twice, 30000), 2 * (double)cost_piece(&one, 30000), 1e9);
    shape.layers = 32;
    shape.tp = 8;
    struct cost_model tp8 = model_of(shape, "h100");
    cr_expect_float_eq((double)cost_attention(&tp8, 30000), (double)cost_attention(&one, 30000) / 8,
                       1e6);
    /* The all-reduces are not divided. */
    cr_expect_gt(8 * tp8.linear, one.linear);
    cr_expect_lt(tp8.linear, one.linear);
    cr_expect_gt(tp8.crossover_tokens, one.crossover_tokens);
    cr_expect_eq(tp8.cp, 1);
}

Test(cost_device, attention_equals_the_rest_at_the_crossover)
{
    struct cost_shape shape = llama_8b;
    shape.tp = 8;
    struct cost_model model = model_of(shape, "h100");
    uint32_t b = (uint32_t)model.crossover_tokens;
    cr_expect_leq(cost_attention(&model, b), cost_linear(&model, b));
    cr_expect_geq(cost_attention(&model, b + 2), cost_linear(&model, b + 2));
}

static void refused(struct cost_options options, const char *text)
{
    struct cost_model model;
    struct error err = { 0 };
    cr_expect_eq(cost_model_init(&model, &options, &err), EX_CONFIG);
    cr_expect_str_eq(err.text, text, "%s", err.text);
}

Test(cost_device, refusals)
{
    struct cost_shape shape = llama_8b;
    char other[] = "a100";
    refused((struct cost_options){ .model = shape, .device = other },
            "cost.device: found a100, expected h100");
    refused((struct cost_options){ .crossover_tokens = 5, .device = h100 },
            "cost.device: found no model, expected one: a device needs the figures of the "
            "transformer, cost: { device: h100, model: ... }");
    shape.tflops = 400;
    refused(
        (struct cost_options){ .model = shape, .device = h100 },
        "cost.model.tflops: found a rate, expected none: the device h100 has its own; leave out "
        "one of the two");
    shape.tflops = 0;
    shape.tp = 16;
    refused((struct cost_options){ .model = shape, .device = h100 },
            "cost.model.tp: found 16, expected at most 8, to which h100 was measured: give tflops "
            "in place of the device, or a table");
}

#define DATA BALLAST_SOURCE_DIR "/../shared/data/"

/* The fit at cp = 1 with its launch, for one forward pass of one layer of 64 heads of 128. */
static double fitted_ms(uint32_t tokens, uint32_t tp)
{
    const struct cost_device *device = cost_device_find("h100");
    double width = 64.0 * 128 / tp, d = tokens;
    double ps = width * (device->attention_token * d + device->attention_square * d * d);
    return ps * 1e-9 + 0.02003;
}

Test(cost_device, keeps_its_error_on_the_published_points)
{
    FILE *file = fopen(DATA "h100-attention-per-document.csv", "re");
    if (!file)
        return;
    char line[128];
    double sum = 0, most = 0;
    unsigned count = 0, tokens, cp, tp;
    double ms;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%u,%u,%u,%lf", &tokens, &cp, &tp, &ms) != 4 || cp != 1)
            continue;
        double error = fabs(fitted_ms(tokens, tp) / ms - 1);
        sum += error;
        most = error > most ? error : most;
        count++;
    }
    fclose(file);
    cr_assert_eq(count, 44);
    cr_expect_leq(sum / count, 0.07, "%f", sum / count);
    cr_expect_leq(most, 0.23, "%f", most);
}
