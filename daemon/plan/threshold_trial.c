#include "plan/threshold_trial.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/wide.h"

#define WARM_UP_STEPS 10u /* while queues fill; of a short sample a quarter */
#define MILLION 1000000u

/* Sums over the steps that count. */
struct figures {
    wide busiest, work; /* workload of each step's busiest micro-batch; of all micro-batches */
    wide delayed;       /* steps x tokens */
    uint64_t tokens;
};

struct run {
    const struct pack_policy *policy;
    void *packer;
    const struct pack_shape *shape;
    const struct piece *pieces;
    size_t count, next;
    uint64_t step;
    struct packing packing;
    struct waiting_piece *waiting;
    size_t waiting_capacity;
    struct figures figures;
};

/* False at the end of the sample; what is packed then would not be a whole step. */
static bool feed(struct run *run, int *status, struct error *err)
{
    while (*status == 0 && run->policy->wants(run->packer)) {
        if (run->next == run->count)
            return false;
        struct piece piece = run->pieces[run->next++];
        piece.arrived = run->step;
        *status = run->policy->offer(run->packer, &piece, err);
    }
    return *status == 0;
}

static void add_step(struct run *run)
{
    const struct packing *packing = &run->packing;
    struct figures *figures = &run->figures;
    workload busiest = 0;
    for (uint32_t m = 0; m < run->shape->microbatches; m++) {
        workload work = packing->microbatches[m].workload;
        busiest = work > busiest ? work : busiest;
        figures->work += work;
    }
    figures->busiest += busiest;
    figures->tokens += packing->tokens;
    for (size_t i = 0; i < packing->piece_count; i++)
        figures->delayed +=
            (wide)(run->step - packing->pieces[i].arrived) * packing->pieces[i].length;
}

/* What waits at the end counts as if it were served then: or queues that never fill looked good. */
static int add_waiting(struct run *run, struct error *err)
{
    size_t count = run->policy->waiting(run->packer, NULL, 0);
    if (!grow(run->waiting, &run->waiting_capacity, count))
        return error_memory(err, "choosing outlier thresholds");
    run->policy->waiting(run->packer, run->waiting, count);
    for (size_t i = 0; i < count; i++) {
        const struct piece *piece = &run->waiting[i].piece;
        run->figures.delayed += (wide)(run->step - piece->arrived) * piece->length;
        run->figures.tokens += piece->length;
    }
    return 0;
}

static int pack_all(struct run *run, uint64_t warm_up, struct error *err)
{
    int status = 0;
    while (feed(run, &status, err)) {
        status = run->policy->pack(run->packer, false, &run->packing, err);
        if (status)
            return status;
        if (run->step >= warm_up)
            add_step(run);
        run->step++;
    }
    return status ? status : add_waiting(run, err);
}

static void conclude(const struct run *run, struct threshold_trial *trial)
{
    const struct figures *figures = &run->figures;
    wide even = figures->work, busiest = figures->busiest * run->shape->microbatches;
    trial->excess = even > 0 ? (uint64_t)((busiest - even) * MILLION / even) : 0;
    trial->delay =
        figures->tokens > 0 ? (uint64_t)(figures->delayed * MILLION / figures->tokens) : 0;
    trial->score = trial->excess + trial->delay / AUTO_THRESHOLDS_DELAY;
}

static uint64_t warm_up_of(const struct piece *pieces, size_t count, const struct pack_shape *shape)
{
    uint64_t tokens = 0;
    for (size_t i = 0; i < count; i++)
        tokens += pieces[i].length;
    uint64_t steps = tokens / ((uint64_t)shape->microbatches * shape->window);
    return steps / 4 < WARM_UP_STEPS ? steps / 4 : WARM_UP_STEPS;
}

int threshold_trial_run(struct threshold_trial *trial, const struct piece *pieces, size_t count,
                        const struct pack_shape *shape, const struct pack_options *options,
                        uint64_t *ret_steps, struct error *err)
{
    struct pack_options with = *options;
    with.outlier_thresholds = trial->thresholds;
    with.outlier_threshold_count = trial->count;
    struct run run = {
        .policy = pack_policy_find("wlb"), .shape = shape, .pieces = pieces, .count = count
    };
    int status = run.policy->open(shape, &with, &run.packer, err);
    if (status)
        return status;
    status = pack_all(&run, warm_up_of(pieces, count, shape), err);
    if (status == 0) {
        conclude(&run, trial);
        *ret_steps = run.step;
    }
    run.policy->close(run.packer);
    packing_fini(&run.packing);
    free(run.waiting);
    return status;
}
