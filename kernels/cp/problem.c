#include "kernels/cp/problem.h"

#include <stdlib.h>

#include "kernels/cp/cuda_error.h"
#include "kernels/cp/plan_check.h"

#define WORKSPACE_ALIGNMENT 256

/* Takes `bytes` of the workspace; where they begin. */
static size_t place(size_t *used, size_t bytes)
{
    size_t at = *used;
    *used = (at + bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
    return at;
}

static void place_parts(ballast_attention_cp_problem *problem, size_t *used)
{
    for (uint32_t i = 0; i < problem->part_count; i++)
        problem->part_places[i] = place(used, ballast_attention_workspace_bytes(problem->parts[i]));
}

/* Two places that take turns; one where there is nothing to take turns with. */
static void place_pair(const ballast_attention_cp_problem *problem, size_t *used, size_t bytes,
                       size_t places[2])
{
    places[0] = place(used, bytes);
    places[1] = problem->groups > 1 || problem->variant == BALLAST_ATTENTION_CP_RING
                    ? place(used, bytes)
                    : places[0];
}

static void place_gather(ballast_attention_cp_problem *problem, size_t *used)
{
    struct gather_places *places = &problem->gather;
    const struct row_map *map = &problem->map;
    size_t values = problem_row_values(problem);
    size_t row = values * PROBLEM_VALUE_BYTES, float_row = values * sizeof(float);
    places->exchanged = place(used, map->tokens * sizeof *map->exchanged);
    places->token = place(used, map->exchanged_rows * sizeof *map->token);
    places->own = place(used, problem->padded_tokens * row);
    place_pair(problem, used, map->exchanged_rows * row, places->gathered);
    places->keys = place(used, map->tokens * row);
    places->gradients = place(used, map->tokens * float_row);
    place_pair(problem, used, map->exchanged_rows * float_row, places->parts);
    places->sums = place(used, problem->padded_tokens * float_row);
}

static void place_ring(ballast_attention_cp_problem *problem, size_t *used)
{
    struct ring_places *places = &problem->ring;
    size_t rows = problem->padded_tokens, values = problem_row_values(problem);
    size_t heads = problem->heads, query = heads * problem->head_dim * sizeof(float);
    place_pair(problem, used, rows * values * PROBLEM_VALUE_BYTES, places->keys);
    places->out = place(used, rows * query);
    places->part_out = place(used, rows * query);
    places->part_lse = place(used, rows * heads * sizeof(float));
    places->q_gradient = place(used, rows * query);
    places->part_q_gradient = place(used, rows * query);
    place_pair(problem, used, rows * values * sizeof(float), places->parts);
    places->sums = place(used, rows * values * sizeof(float));
}

static void place_all(ballast_attention_cp_problem *problem)
{
    size_t used = 0;
    place_parts(problem, &used);
    if (problem->variant == BALLAST_ATTENTION_CP_ALL_GATHER)
        place_gather(problem, &used);
    else
        place_ring(problem, &used);
    problem->workspace_bytes = used;
}

/* The chunks of a rank, as key chunks or as chunks of a plan. */
static const ballast_attention_chunk *chunks_of(const ballast_attention_cp_plan *plan,
                                                uint32_t rank, uint32_t *ret_count)
{
    *ret_count = plan->rank_chunks[rank + 1] - plan->rank_chunks[rank];
    return plan->chunks + plan->rank_chunks[rank];
}

/* The attention of this rank's queries with all keys, or with those of the rank `steps` before. */
static ballast_attention_status make_part(const ballast_attention_layout *layout,
                                          const ballast_attention_cp_plan *plan, uint32_t steps,
                                          ballast_attention_problem **ret_part,
                                          ballast_attention_error *error)
{
    ballast_attention_plan part = BALLAST_ATTENTION_PLAN_INIT;
    part.piece_count = plan->piece_count;
    part.cu_seqlens = plan->cu_seqlens;
    part.chunks = chunks_of(plan, plan->rank, &part.chunk_count);
    part.padded_tokens = plan->padded_tokens;
    if (plan->variant == BALLAST_ATTENTION_CP_RING) {
        uint32_t from = (plan->rank + plan->ranks - steps) % plan->ranks;
        part.key_chunks = chunks_of(plan, from, &part.key_chunk_count);
    }
    return ballast_attention_problem_new(layout, &part, ret_part, error);
}

static ballast_attention_status make_parts(const ballast_attention_layout *layout,
                                           const ballast_attention_cp_plan *plan,
                                           ballast_attention_cp_problem *problem,
                                           ballast_attention_error *error)
{
    uint32_t count = plan->variant == BALLAST_ATTENTION_CP_RING ? plan->ranks : 1;
    problem->parts = calloc(count, sizeof(ballast_attention_problem *));
    problem->part_places = calloc(count, sizeof *problem->part_places);
    if (!problem->parts || !problem->part_places)
        return attention_error(error, BALLAST_ATTENTION_NO_MEMORY,
                               "making a problem: out of memory");
    ballast_attention_status status = BALLAST_ATTENTION_OK;
    for (uint32_t i = 0; status == BALLAST_ATTENTION_OK && i < count; i++) {
        status = make_part(layout, plan, i, &problem->parts[i], error);
        problem->part_count += status == BALLAST_ATTENTION_OK;
    }
    return status;
}

static ballast_attention_status make_map(const ballast_attention_cp_plan *plan,
                                         ballast_attention_cp_problem *problem,
                                         ballast_attention_error *error)
{
    if (!row_map_init(plan, &problem->map))
        return attention_error(error, BALLAST_ATTENTION_NO_MEMORY,
                               "making a problem: out of memory");
    uint32_t hole = row_map_hole(&problem->map);
    if (hole == UINT32_MAX)
        return BALLAST_ATTENTION_OK;
    return attention_error(error, BALLAST_ATTENTION_INVALID,
                           "chunks: token %u of the sequence is in none, and another is in two",
                           hole);
}

/* All but the groups, which plan_groups has found. */
static ballast_attention_status fill(const ballast_attention_layout *layout,
                                     const ballast_attention_cp_plan *plan,
                                     ballast_attention_cp_problem *problem,
                                     ballast_attention_error *error)
{
    problem->variant = plan->variant;
    problem->ranks = plan->ranks;
    problem->rank = plan->rank;
    problem->padded_tokens = plan->padded_tokens;
    problem->heads = layout->heads;
    problem->kv_heads = layout->kv_heads;
    problem->head_dim = layout->head_dim;
    problem->type = layout->type;
    problem->group_heads = layout->kv_heads / problem->groups;
    ballast_attention_status status = make_map(plan, problem, error);
    if (status == BALLAST_ATTENTION_OK)
        status = make_parts(layout, plan, problem, error);
    if (status == BALLAST_ATTENTION_OK)
        place_all(problem);
    return status;
}

ballast_attention_status ballast_attention_cp_problem_new(
    const ballast_attention_layout *layout, const ballast_attention_cp_plan *plan,
    ballast_attention_cp_problem **ret_problem, ballast_attention_error *error)
{
    if (!layout || !ret_problem)
        return attention_error(error, BALLAST_ATTENTION_INVALID, "layout or problem: found NULL");
    ballast_attention_status status = plan_check(plan, error);
    uint32_t groups = 1;
    if (status == BALLAST_ATTENTION_OK)
        status = plan_groups(layout, plan, &groups, error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    ballast_attention_cp_problem *problem = calloc(1, sizeof *problem);
    if (!problem)
        return attention_error(error, BALLAST_ATTENTION_NO_MEMORY,
                               "making a problem: out of memory");
    problem->groups = groups;
    status = fill(layout, plan, problem, error);
    if (status != BALLAST_ATTENTION_OK) {
        ballast_attention_cp_problem_free(problem);
        return status;
    }
    *ret_problem = problem;
    return BALLAST_ATTENTION_OK;
}

void ballast_attention_cp_problem_free(ballast_attention_cp_problem *problem)
{
    if (!problem)
        return;
    for (uint32_t i = 0; i < problem->part_count; i++)
        ballast_attention_problem_free(problem->parts[i]);
    free(problem->parts);
    free(problem->part_places);
    row_map_fini(&problem->map);
    free(problem);
}

size_t ballast_attention_cp_workspace_bytes(const ballast_attention_cp_problem *problem)
{
    return problem->workspace_bytes;
}

static ballast_attention_status upload_parts(ballast_attention_cp_problem *problem,
                                             cudaStream_t stream, ballast_attention_error *error)
{
    ballast_attention_status status = BALLAST_ATTENTION_OK;
    for (uint32_t i = 0; status == BALLAST_ATTENTION_OK && i < problem->part_count; i++)
        status = ballast_attention_upload(
            problem->parts[i], problem_at(problem, problem->part_places[i]),
            ballast_attention_workspace_bytes(problem->parts[i]), stream, error);
    return status;
}

static ballast_attention_status upload_map(const ballast_attention_cp_problem *problem,
                                           cudaStream_t stream, ballast_attention_error *error)
{
    const struct row_map *map = &problem->map;
    cudaError_t result =
        cudaMemcpyAsync(problem_at(problem, problem->gather.exchanged), map->exchanged,
                        map->tokens * sizeof *map->exchanged, cudaMemcpyHostToDevice, stream);
    if (result == cudaSuccess)
        result = cudaMemcpyAsync(problem_at(problem, problem->gather.token), map->token,
                                 map->exchanged_rows * sizeof *map->token, cudaMemcpyHostToDevice,
                                 stream);
    return cuda_error(error, result, "copying tables to the device");
}

ballast_attention_status ballast_attention_cp_upload(ballast_attention_cp_problem *problem,
                                                     void *workspace, size_t workspace_bytes,
                                                     ballast_attention_stream stream,
                                                     ballast_attention_error *error)
{
    if (!problem || !workspace || (uintptr_t)workspace % WORKSPACE_ALIGNMENT != 0)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "workspace: expected memory of the device, aligned to %d bytes",
                               WORKSPACE_ALIGNMENT);
    if (workspace_bytes < problem->workspace_bytes)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "workspace: found %zu bytes, expected %zu", workspace_bytes,
                               problem->workspace_bytes);
    problem->workspace = workspace;
    ballast_attention_status status = upload_parts(problem, stream, error);
    if (status == BALLAST_ATTENTION_OK && problem->variant == BALLAST_ATTENTION_CP_ALL_GATHER)
        status = upload_map(problem, stream, error);
    if (status != BALLAST_ATTENTION_OK)
        problem->workspace = NULL;
    return status;
}
