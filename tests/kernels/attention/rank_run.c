#include "rank_run.h"

#include <criterion/criterion.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/emulation/bank.h"
#include "kernels/emulation/fault.h"

enum { POISON = 0xff }; /* NaN in every type */

/* A tensor on the device and its copy on the host: [rows, heads, head_dim], rows `stride` apart. */
struct tensor {
    void *device;
    unsigned char *host;
    size_t bytes;
    uint32_t rows, row_values;
    int64_t stride;
    ballast_attention_type type;
};

enum tensor_name { Q, K, V, OUT, LSE, OUT_GRADIENT, Q_GRADIENT, K_GRADIENT, V_GRADIENT, TENSORS };

struct run {
    const struct microbatch *batch;
    const ballast_attention_plan *plan;
    const struct rank_options *options;
    ballast_attention_problem *problem;
    ballast_attention_facts facts;
    void *workspace;
    uint32_t *tokens; /* of the micro-batch, which each query row is */
    struct tensor tensors[TENSORS];
};

static void must(ballast_attention_status status, const ballast_attention_error *error)
{
    cr_assert_eq(status, BALLAST_ATTENTION_OK, "%s: %s", ballast_attention_status_text(status),
                 error->text);
}

static void must_cuda(cudaError_t status)
{
    cr_assert_eq(status, cudaSuccess, "%s\n%s", cudaGetErrorString(status), emulation_fault_text());
}

static size_t value_bytes(ballast_attention_type type)
{
    return type == BALLAST_ATTENTION_F32 ? 4 : 2;
}

static unsigned char *value_at(const struct tensor *tensor, uint32_t row, uint32_t value)
{
    size_t index = (size_t)row * (size_t)tensor->stride + value;
    return tensor->host + index * value_bytes(tensor->type);
}

static double get(const struct tensor *tensor, uint32_t row, uint32_t value)
{
    const unsigned char *at = value_at(tensor, row, value);
    if (tensor->type == BALLAST_ATTENTION_F32) {
        float number;
        memcpy(&number, at, sizeof number);
        return number;
    }
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return half_value(tensor->type, bits);
}

static void put(const struct tensor *tensor, uint32_t row, uint32_t value, double number)
{
    uint16_t bits = half_bits(tensor->type, number);
    memcpy(value_at(tensor, row, value), &bits, sizeof bits);
}

static void tensor_init(struct tensor *tensor, uint32_t rows, uint32_t row_values, int64_t stride,
                        ballast_attention_type type)
{
    *tensor =
        (struct tensor){ .rows = rows, .row_values = row_values, .stride = stride, .type = type };
    tensor->bytes = (size_t)rows * (size_t)stride * value_bytes(type);
    tensor->host = malloc(tensor->bytes + 1);
    cr_assert(tensor->host);
    memset(tensor->host, POISON, tensor->bytes);
    must_cuda(cudaMalloc(&tensor->device, tensor->bytes + 1));
}

static void send(const struct tensor *tensor)
{
    must_cuda(cudaMemcpy(tensor->device, tensor->host, tensor->bytes, cudaMemcpyHostToDevice));
}

static void receive(const struct tensor *tensor)
{
    must_cuda(cudaMemcpy(tensor->host, tensor->device, tensor->bytes, cudaMemcpyDeviceToHost));
}

static void make_tensors(struct run *run)
{
    const ballast_attention_layout *layout = &run->batch->layout;
    ballast_attention_type type = layout->type;
    ballast_attention_type result = run->options->float_results ? BALLAST_ATTENTION_F32 : type;
    uint32_t rows = run->facts.padded_tokens, keys = run->facts.key_tokens;
    uint32_t query = layout->heads * layout->head_dim, key = layout->kv_heads * layout->head_dim;
    int64_t query_stride = (int64_t)query + run->options->spread;
    int64_t key_stride = (int64_t)key + run->options->spread;
    struct tensor *tensors = run->tensors;
    tensor_init(&tensors[Q], rows, query, query_stride, type);
    tensor_init(&tensors[K], keys, key, key_stride, type);
    tensor_init(&tensors[V], keys, key, key_stride, type);
    tensor_init(&tensors[OUT], rows, query, query_stride, result);
    tensor_init(&tensors[LSE], layout->heads, rows, rows, BALLAST_ATTENTION_F32);
    tensor_init(&tensors[OUT_GRADIENT], rows, query, query_stride, type);
    tensor_init(&tensors[Q_GRADIENT], rows, query, query_stride, result);
    tensor_init(&tensors[K_GRADIENT], keys, key, key_stride, result);
    tensor_init(&tensors[V_GRADIENT], keys, key, key_stride, result);
}

static void fill_inputs(struct run *run)
{
    struct tensor *tensors = run->tensors;
    for (uint32_t row = 0; row < run->facts.local_tokens; row++)
        for (uint32_t i = 0; i < tensors[Q].row_values; i++) {
            size_t from = (size_t)run->tokens[row] * tensors[Q].row_values + i;
            put(&tensors[Q], row, i, run->batch->q[from]);
            put(&tensors[OUT_GRADIENT], row, i, run->batch->out_gradient[from]);
        }
    for (uint32_t row = 0; row < run->facts.key_tokens; row++)
        for (uint32_t i = 0; i < tensors[K].row_values; i++) {
            size_t from = (size_t)row * tensors[K].row_values + i;
            put(&tensors[K], row, i, run->batch->k[from]);
            put(&tensors[V], row, i, run->batch->v[from]);
        }
    for (int t = 0; t < TENSORS; t++)
        send(&tensors[t]);
}

static void begin(struct run *run)
{
    ballast_attention_error error = { "" };
    ballast_attention_layout layout = run->batch->layout;
    layout.path = run->options->path;
    layout.blocks = run->options->blocks;
    must(ballast_attention_problem_new(&layout, run->plan, &run->problem, &error), &error);
    ballast_attention_get_facts(run->problem, &run->facts);
    run->tokens = calloc((size_t)run->facts.padded_tokens + 1, sizeof *run->tokens);
    cr_assert(run->tokens);
    uint32_t row = 0;
    for (uint32_t c = 0; c < run->plan->chunk_count; c++)
        for (uint32_t i = 0; i < run->plan->chunks[c].length; i++)
            run->tokens[row++] =
                run->batch->cu_seqlens[run->plan->chunks[c].piece] + run->plan->chunks[c].start + i;
    cr_assert_eq(row, run->facts.local_tokens);
    size_t bytes = ballast_attention_workspace_bytes(run->problem);
    must_cuda(cudaMalloc(&run->workspace, bytes));
    must(ballast_attention_upload(run->problem, run->workspace, bytes, NULL, &error), &error);
    make_tensors(run);
    fill_inputs(run);
}

/* Where the group's keys begin. */
static unsigned char *from_head(const struct run *run, enum tensor_name name, uint32_t kv_head)
{
    const struct tensor *tensor = &run->tensors[name];
    return (unsigned char *)tensor->device +
           (size_t)kv_head * run->batch->layout.head_dim * value_bytes(tensor->type);
}

static void forward(const struct run *run, ballast_attention_heads heads)
{
    ballast_attention_error error = { "" };
    const struct tensor *tensors = run->tensors;
    ballast_attention_forward_call call = BALLAST_ATTENTION_FORWARD_INIT;
    call.kv_heads = heads;
    call.q = tensors[Q].device;
    call.k = from_head(run, K, heads.first);
    call.v = from_head(run, V, heads.first);
    call.out = tensors[OUT].device;
    call.lse = tensors[LSE].device;
    call.out_type = tensors[OUT].type;
    call.q_stride = call.out_stride = tensors[Q].stride;
    call.k_stride = call.v_stride = tensors[K].stride;
    must(ballast_attention_forward(run->problem, &call, NULL, &error), &error);
}

static void backward(const struct run *run, ballast_attention_heads heads)
{
    ballast_attention_error error = { "" };
    const struct tensor *tensors = run->tensors;
    ballast_attention_backward_call call = BALLAST_ATTENTION_BACKWARD_INIT;
    call.kv_heads = heads;
    call.q = tensors[Q].device;
    call.k = from_head(run, K, heads.first);
    call.v = from_head(run, V, heads.first);
    call.out = tensors[OUT].device;
    call.lse = tensors[LSE].device;
    call.out_gradient = tensors[OUT_GRADIENT].device;
    call.q_gradient = tensors[Q_GRADIENT].device;
    call.k_gradient = from_head(run, K_GRADIENT, heads.first);
    call.v_gradient = from_head(run, V_GRADIENT, heads.first);
    call.out_type = call.q_gradient_type = call.kv_gradient_type = tensors[OUT].type;
    call.q_stride = call.out_stride = call.out_gradient_stride = call.q_gradient_stride =
        tensors[Q].stride;
    call.k_stride = call.v_stride = call.k_gradient_stride = call.v_gradient_stride =
        tensors[K].stride;
    must(ballast_attention_backward(run->problem, &call, NULL, &error), &error);
}

/* Padding is zeros, and between the rows nothing was touched. */
static void check_rest(const struct run *run, enum tensor_name name)
{
    const struct tensor *tensor = &run->tensors[name];
    bool of_queries = name == OUT || name == Q_GRADIENT;
    for (uint32_t row = of_queries ? run->facts.local_tokens : tensor->rows; row < tensor->rows;
         row++)
        for (uint32_t i = 0; i < tensor->row_values; i++)
            cr_assert_eq(get(tensor, row, i), 0.0, "tensor %d, padding row %u", (int)name, row);
    for (uint32_t row = 0; row < tensor->rows; row++) {
        size_t bytes = ((size_t)tensor->stride - tensor->row_values) * value_bytes(tensor->type);
        for (size_t i = 0; i < bytes; i++)
            cr_assert_eq(value_at(tensor, row, tensor->row_values)[i], POISON,
                         "tensor %d, behind row %u", (int)name, row);
    }
}

static void take_queries(const struct run *run, struct results *results)
{
    const struct tensor *tensors = run->tensors;
    for (uint32_t row = 0; row < run->facts.local_tokens; row++)
        for (uint32_t i = 0; i < tensors[Q].row_values; i++) {
            size_t to = (size_t)run->tokens[row] * tensors[Q].row_values + i;
            results->out[to] = get(&tensors[OUT], row, i);
            results->q_gradient[to] = get(&tensors[Q_GRADIENT], row, i);
        }
    for (uint32_t head = 0; head < run->batch->layout.heads; head++) {
        for (uint32_t row = 0; row < run->facts.local_tokens; row++)
            results->lse[(size_t)head * run->batch->tokens + run->tokens[row]] =
                get(&tensors[LSE], head, row);
        for (uint32_t row = run->facts.local_tokens; row < run->facts.padded_tokens; row++)
            cr_assert_eq(get(&tensors[LSE], head, row), -INFINITY);
    }
}

static void add(double *sum, double part)
{
    *sum = isnan(*sum) ? part : *sum + part;
}

static void take_keys(const struct run *run, struct results *results)
{
    const struct tensor *tensors = run->tensors;
    for (uint32_t row = 0; row < run->facts.key_tokens; row++)
        for (uint32_t i = 0; i < tensors[K].row_values; i++) {
            size_t to = (size_t)row * tensors[K].row_values + i;
            add(&results->k_gradient[to], get(&tensors[K_GRADIENT], row, i));
            add(&results->v_gradient[to], get(&tensors[V_GRADIENT], row, i));
        }
}

static const enum tensor_name result_tensors[] = { OUT, LSE, Q_GRADIENT, K_GRADIENT, V_GRADIENT };
enum { RESULT_TENSORS = sizeof result_tensors / sizeof *result_tensors };

static void copy_results(const struct run *run, struct rank_results *ret_results)
{
    size_t count = 0;
    for (int i = 0; i < RESULT_TENSORS; i++)
        count += run->tensors[result_tensors[i]].bytes;
    *ret_results = (struct rank_results){ malloc(count + 1), count };
    cr_assert(ret_results->bytes);
    unsigned char *to = ret_results->bytes;
    for (int i = 0; i < RESULT_TENSORS; i++) {
        memcpy(to, run->tensors[result_tensors[i]].host, run->tensors[result_tensors[i]].bytes);
        to += run->tensors[result_tensors[i]].bytes;
    }
}

static void end(struct run *run)
{
    ballast_attention_problem_free(run->problem);
    cudaFree(run->workspace);
    free(run->tokens);
    for (int t = 0; t < TENSORS; t++) {
        cudaFree(run->tensors[t].device);
        free(run->tensors[t].host);
    }
}

void rank_run(const struct microbatch *batch, const ballast_attention_plan *plan,
              const struct rank_options *options, struct results *results,
              struct rank_results *ret_results)
{
    struct run run = { .batch = batch, .plan = plan, .options = options };
    uint32_t kv_heads = batch->layout.kv_heads;
    uint32_t step = options->heads_at_once ? options->heads_at_once : kv_heads;
    emulation_clear_banks();
    begin(&run);
    for (uint32_t head = 0; head < kv_heads; head += step)
        forward(&run, (ballast_attention_heads){ head, kv_heads - head < step ? 0 : step });
    for (uint32_t head = 0; head < kv_heads; head += step)
        backward(&run, (ballast_attention_heads){ head, kv_heads - head < step ? 0 : step });
    must_cuda(cudaDeviceSynchronize());
    cr_assert_eq(emulation_faults(), 0, "%s", emulation_fault_text());
    cr_assert_eq(emulation_bank_conflicts(), 0, "%s", emulation_bank_text());
    for (int i = 0; i < RESULT_TENSORS; i++) {
        receive(&run.tensors[result_tensors[i]]);
        check_rest(&run, result_tensors[i]);
    }
    take_queries(&run, results);
    take_keys(&run, results);
    if (ret_results)
        copy_results(&run, ret_results);
    end(&run);
}

void rank_results_fini(struct rank_results *results)
{
    free(results->bytes);
    *results = (struct rank_results){ 0 };
}
