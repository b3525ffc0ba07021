#include "kernels/example/layer.h"

#include <ballast/ballast.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/half/half.h"

/* A number between -1 and 1 that depends on nothing but the two. */
static float number_of(uint64_t what, uint64_t index)
{
    uint64_t bits =
        (what + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ index * UINT64_C(0xd1b54a32d192ed03);
    bits = (bits ^ bits >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
    bits ^= bits >> 29;
    return (float)((double)(bits >> 40) / (1 << 23) - 1.0);
}

static void embed(int32_t token, float x[HIDDEN])
{
    for (int i = 0; i < HIDDEN; i++)
        x[i] = number_of((uint32_t)token, (uint64_t)i);
}

static void make_matrix(float *values, size_t bytes, uint64_t number, float scale)
{
    for (size_t i = 0; i < bytes / sizeof *values; i++)
        values[i] = scale * number_of(UINT64_MAX - number, i);
}

void layer_init(struct layer *layer)
{
    const float in = 1 / sqrtf(HIDDEN), out = 1 / sqrtf(QUERY_WIDTH);
    make_matrix(&layer->q[0][0], sizeof layer->q, 1, 2 * in);
    make_matrix(&layer->k[0][0], sizeof layer->k, 2, 2 * in);
    make_matrix(&layer->v[0][0], sizeof layer->v, 3, in);
    make_matrix(&layer->out[0][0], sizeof layer->out, 4, out);
}

bool rows_init(struct rows *rows, const int32_t *tokens, const int32_t *labels, uint32_t count)
{
    *rows = (struct rows){ .count = count, .tokens = tokens, .labels = labels };
    uint16_t **wide[] = { &rows->q, &rows->out, &rows->q_gradient, &rows->out_gradient };
    uint16_t **narrow[] = { &rows->k, &rows->v, &rows->k_gradient, &rows->v_gradient };
    bool good = true;
    for (int i = 0; i < 4; i++) {
        *wide[i] = calloc(count, QUERY_WIDTH * sizeof(uint16_t));
        *narrow[i] = calloc(count, KEY_WIDTH * sizeof(uint16_t));
        good = good && *wide[i] && *narrow[i];
    }
    return good;
}

void rows_fini(struct rows *rows)
{
    free(rows->q);
    free(rows->out);
    free(rows->q_gradient);
    free(rows->out_gradient);
    free(rows->k);
    free(rows->v);
    free(rows->k_gradient);
    free(rows->v_gradient);
}

/* One row of q, k or v. */
static void project(const float x[HIDDEN], const float *matrix, uint32_t width, uint16_t *to)
{
    for (uint32_t column = 0; column < width; column++) {
        float sum = 0;
        for (uint32_t i = 0; i < HIDDEN; i++)
            sum += x[i] * matrix[i * width + column];
        to[column] = bf16_from_float(sum);
    }
}

void layer_project(const struct layer *layer, struct rows *rows)
{
    for (size_t row = 0; row < rows->count; row++) {
        float x[HIDDEN];
        embed(rows->tokens[row], x);
        project(x, &layer->q[0][0], QUERY_WIDTH, rows->q + row * QUERY_WIDTH);
        project(x, &layer->k[0][0], KEY_WIDTH, rows->k + row * KEY_WIDTH);
        project(x, &layer->v[0][0], KEY_WIDTH, rows->v + row * KEY_WIDTH);
    }
}

/* y - x of the label: the gradient of y but for the scale; |it|^2 / 2 is the loss. */
static double miss(const struct layer *layer, const uint16_t out[QUERY_WIDTH], int32_t label,
                   float y[HIDDEN])
{
    double squares = 0;
    embed(label, y);
    for (uint32_t i = 0; i < HIDDEN; i++) {
        float sum = 0;
        for (uint32_t j = 0; j < QUERY_WIDTH; j++)
            sum += bf16_to_float(out[j]) * layer->out[j][i];
        y[i] = sum - y[i];
        squares += (double)y[i] * (double)y[i];
    }
    return squares / 2;
}

void layer_loss(const struct layer *layer, struct rows *rows, double scale, double *loss,
                struct layer *gradients)
{
    for (size_t row = 0; row < rows->count; row++) {
        const uint16_t *out = rows->out + row * QUERY_WIDTH;
        float y[HIDDEN];
        if (rows->labels[row] == BALLAST_IGNORE_LABEL)
            continue; /* its gradient is zero, as rows_init left it */
        *loss += scale * miss(layer, out, rows->labels[row], y);
        for (uint32_t j = 0; j < QUERY_WIDTH; j++) {
            float sum = 0;
            for (uint32_t i = 0; i < HIDDEN; i++) {
                sum += y[i] * layer->out[j][i];
                gradients->out[j][i] += (float)scale * y[i] * bf16_to_float(out[j]);
            }
            rows->out_gradient[row * QUERY_WIDTH + j] = bf16_from_float((float)scale * sum);
        }
    }
}

static void add_outer(const float x[HIDDEN], const uint16_t *gradient, uint32_t width, float *to)
{
    for (uint32_t i = 0; i < HIDDEN; i++)
        for (uint32_t column = 0; column < width; column++)
            to[i * width + column] += x[i] * bf16_to_float(gradient[column]);
}

void layer_backward(const struct rows *rows, struct layer *gradients)
{
    for (size_t row = 0; row < rows->count; row++) {
        float x[HIDDEN];
        embed(rows->tokens[row], x);
        add_outer(x, rows->q_gradient + row * QUERY_WIDTH, QUERY_WIDTH, &gradients->q[0][0]);
        add_outer(x, rows->k_gradient + row * KEY_WIDTH, KEY_WIDTH, &gradients->k[0][0]);
        add_outer(x, rows->v_gradient + row * KEY_WIDTH, KEY_WIDTH, &gradients->v[0][0]);
    }
}

static void add_matrix(float *to, float factor, const float *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        to[i] += factor * from[i];
}

void layer_add(struct layer *to, float factor, const struct layer *from)
{
    add_matrix(&to->q[0][0], factor, &from->q[0][0], sizeof to->q);
    add_matrix(&to->k[0][0], factor, &from->k[0][0], sizeof to->k);
    add_matrix(&to->v[0][0], factor, &from->v[0][0], sizeof to->v);
    add_matrix(&to->out[0][0], factor, &from->out[0][0], sizeof to->out);
}

static double matrix_difference(const float *one, const float *other, size_t bytes)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < bytes / sizeof *one; i++) {
        difference += ((double)one[i] - (double)other[i]) * ((double)one[i] - (double)other[i]);
        size += (double)other[i] * (double)other[i];
    }
    return difference == 0 ? 0 : sqrt(difference / size);
}

double layer_difference(const struct layer *one, const struct layer *other)
{
    const double each[] = {
        matrix_difference(&one->q[0][0], &other->q[0][0], sizeof one->q),
        matrix_difference(&one->k[0][0], &other->k[0][0], sizeof one->k),
        matrix_difference(&one->v[0][0], &other->v[0][0], sizeof one->v),
        matrix_difference(&one->out[0][0], &other->out[0][0], sizeof one->out),
    };
    double most = 0;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        most = fmax(most, each[i]);
    return most;
}
