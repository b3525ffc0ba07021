#include "kernels/profile/measure.h"

#include <sysexits.h>

#include "kernels/profile/fail.h"

#define ALIGNMENT 256u

/* Rows of a tile: query rows times the query heads that share a KV head. */
#define TILE_ROWS 128.0

/* Floats of a query row and head besides: lse, what backward keeps in the workspace, and spare. */
#define ROW_BYTES (4 * sizeof(float))

/* Where each tensor lies in its region. */
struct tensors {
    size_t q, k, v, out_gradient, inputs;
    size_t out, lse, q_gradient, k_gradient, v_gradient, workspace, results;
};

/* One launch to be timed. */
struct launch {
    const ballast_attention_problem *problem;
    ballast_attention_forward_call forward;
    ballast_attention_backward_call backward;
};

static int sysexit_of(ballast_attention_status status)
{
    switch (status) {
    case BALLAST_ATTENTION_OK:
        return 0;
    case BALLAST_ATTENTION_INVALID:
        return EX_USAGE;
    case BALLAST_ATTENTION_NO_MEMORY:
        return EX_OSERR;
    default:
        return EX_UNAVAILABLE;
    }
}

/* Room for `bytes` more; returns where they begin. */
static size_t place(size_t *used, size_t bytes)
{
    size_t begin = (*used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *used = begin + bytes;
    return begin;
}

static struct tensors place_tensors(const ballast_attention_layout *layout,
                                    const ballast_attention_problem *problem,
                                    const ballast_attention_facts *facts, bool backward)
{
    size_t element = sizeof(uint16_t);
    size_t queries = (size_t)facts->padded_tokens * layout->heads * layout->head_dim * element;
    size_t keys = (size_t)facts->key_tokens * layout->kv_heads * layout->head_dim * element;
    struct tensors at = { 0 };
    at.q = place(&at.inputs, queries);
    at.k = place(&at.inputs, keys);
    at.v = place(&at.inputs, keys);
    at.out_gradient = place(&at.inputs, backward ? queries : 0);
    at.out = place(&at.results, queries);
    at.lse = place(&at.results, (size_t)facts->padded_tokens * layout->heads * sizeof(float));
    at.workspace = place(&at.results, ballast_attention_workspace_bytes(problem));
    at.q_gradient = place(&at.results, backward ? queries : 0);
    at.k_gradient = place(&at.results, backward ? keys : 0);
    at.v_gradient = place(&at.results, backward ? keys : 0);
    return at;
}

static void make_calls(const ballast_attention_layout *layout, const struct tensors *at, char *in,
                       char *results, struct launch *launch)
{
    launch->forward = (ballast_attention_forward_call)BALLAST_ATTENTION_FORWARD_INIT;
    launch->forward.q = in + at->q;
    launch->forward.k = in + at->k;
    launch->forward.v = in + at->v;
    launch->forward.out = results + at->out;
    launch->forward.lse = (float *)(void *)(results + at->lse);
    launch->forward.out_type = layout->type;
    launch->backward = (ballast_attention_backward_call)BALLAST_ATTENTION_BACKWARD_INIT;
    launch->backward.q = in + at->q;
    launch->backward.k = in + at->k;
    launch->backward.v = in + at->v;
    launch->backward.out_gradient = in + at->out_gradient;
    launch->backward.out = results + at->out;
    launch->backward.lse = (float *)(void *)(results + at->lse);
    launch->backward.q_gradient = results + at->q_gradient;
    launch->backward.k_gradient = results + at->k_gradient;
    launch->backward.v_gradient = results + at->v_gradient;
    launch->backward.out_type = layout->type;
    launch->backward.q_gradient_type = layout->type;
    launch->backward.kv_gradient_type = layout->type;
}

static int run_forward(void *context, ballast_attention_stream stream,
                       ballast_attention_error *error)
{
    struct launch *launch = context;
    return sysexit_of(ballast_attention_forward(launch->problem, &launch->forward, stream, error));
}

static int run_backward(void *context, ballast_attention_stream stream,
                        ballast_attention_error *error)
{
    struct launch *launch = context;
    return sysexit_of(
        ballast_attention_backward(launch->problem, &launch->backward, stream, error));
}

/* Every tile of the queries is computed for each KV head, whose query heads share its rows. */
static struct profile_measured count_work(const ballast_attention_layout *layout,
                                          const ballast_attention_facts *facts)
{
    struct profile_measured work = { .pairs = facts->pairs * layout->heads };
    double columns = (double)facts->tile_pairs * layout->heads / TILE_ROWS;
    double query_tiles = (double)facts->query_tiles * layout->kv_heads;
    double key_tiles = (double)facts->key_tiles * layout->kv_heads;
    work.forward = (struct profile_point){ .tiles = query_tiles, .columns = columns };
    work.backward = (struct profile_point){ .tiles = query_tiles + key_tiles, .columns = columns };
    return work;
}

static int time_launches(const struct profile_measure *measure, struct launch *launch,
                         struct profile_measured *work, ballast_attention_error *error)
{
    int status = profile_device_time(measure->device, measure->repeats, run_forward, launch,
                                     &work->forward.us, error);
    if (status || !measure->backward)
        return status;
    return profile_device_time(measure->device, measure->repeats, run_backward, launch,
                               &work->backward.us, error);
}

static int measure_problem(const struct profile_measure *measure,
                           ballast_attention_problem *problem,
                           struct profile_measured *ret_measured, ballast_attention_error *error)
{
    ballast_attention_facts facts;
    ballast_attention_get_facts(problem, &facts);
    struct tensors at = place_tensors(&measure->layout, problem, &facts, measure->backward);
    struct launch launch = { .problem = problem };
    void *in, *results;
    int status = profile_device_region(measure->device, PROFILE_INPUTS, at.inputs, &in, error);
    if (!status)
        status =
            profile_device_region(measure->device, PROFILE_RESULTS, at.results, &results, error);
    if (status)
        return status;
    make_calls(&measure->layout, &at, in, results, &launch);
    status = sysexit_of(ballast_attention_upload(problem, (char *)results + at.workspace,
                                                 ballast_attention_workspace_bytes(problem), NULL,
                                                 error));
    struct profile_measured measured = count_work(&measure->layout, &facts);
    if (!status)
        status = time_launches(measure, &launch, &measured, error);
    if (!status)
        *ret_measured = measured;
    return status;
}

int profile_measure_pack(const struct profile_measure *measure, const struct profile_pack *pack,
                         struct profile_measured *ret_measured, ballast_attention_error *error)
{
    ballast_attention_plan plan = profile_pack_plan(pack);
    ballast_attention_problem *problem;
    int status =
        sysexit_of(ballast_attention_problem_new(&measure->layout, &plan, &problem, error));
    if (status)
        return status;
    status = measure_problem(measure, problem, ret_measured, error);
    ballast_attention_problem_free(problem);
    return status;
}

int profile_measure_tiles(const ballast_attention_layout *layout, const struct profile_pack *pack,
                          uint64_t *ret_tiles, ballast_attention_error *error)
{
    ballast_attention_plan plan = profile_pack_plan(pack);
    ballast_attention_problem *problem;
    int status = sysexit_of(ballast_attention_problem_new(layout, &plan, &problem, error));
    if (status)
        return status;
    ballast_attention_facts facts;
    ballast_attention_get_facts(problem, &facts);
    *ret_tiles = (uint64_t)facts.query_tiles * layout->kv_heads;
    ballast_attention_problem_free(problem);
    return 0;
}

uint64_t profile_measure_bytes(const struct profile_measure *measure, uint64_t rows, uint64_t keys)
{
    const ballast_attention_layout *layout = &measure->layout;
    uint64_t tensors = measure->backward ? 4 : 2; /* q and out, k and v; and their gradients */
    uint64_t width = tensors * layout->head_dim * sizeof(uint16_t);
    return rows * layout->heads * (width + ROW_BYTES) + keys * layout->kv_heads * width;
}
