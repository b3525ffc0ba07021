/*
 * By GLPK: it keeps its state per thread, prints nothing once told so, catches no signals, and has
 * no numerical kernels that differ from one processor to the next. (CBC, the other solver of the
 * distributions, takes over SIGINT and computes with whatever BLAS is installed.)
 *
 * Bins of a kind, capped or not, are alike, so the long piece number i, counted from the longest,
 * may only be in the bins 0 to i of each kind: every placing can be renamed so.
 */
#include "pack/assignment_program.h"

#include <glpk.h>
#include <math.h>
#include <stdlib.h>

/* Works are divided by the room squared, tokens by the room: numbers near 1 solve best. */
#define TOLERANCE 1e-7 /* of the library's answers, relative */
#define GAP 1e-4       /* nearer to the optimum than this is optimal */

#define TEXT(number) #number
#define VERSION_TEXT(number) TEXT(number)

struct search {
    const struct assignment_program *program;
    glp_prob *problem;
    int first_liquid; /* column; before it come column 1, the largest work, and the pieces */
    int *rows;        /* scratch for one column, or for one row */
    double *values;
    double bound;
    uint64_t nodes;
};

/* May this piece be in this bin, counting bins within their kind? */
static bool allowed(const struct assignment_program *program, uint32_t piece, uint32_t bin)
{
    return (bin < program->capped ? bin : bin - program->capped) <= piece;
}

static double square(double number)
{
    return number * number;
}

/* Rows: tokens of each bin, work of each bin, then one for each piece and liquid. */
static int token_row(uint32_t bin)
{
    return (int)bin + 1;
}

static int work_row(const struct assignment_program *program, uint32_t bin)
{
    return (int)(program->bins + bin) + 1;
}

static int amount_row(const struct assignment_program *program, uint32_t index)
{
    return (int)(2 * program->bins + index) + 1;
}

static void add_rows(const struct search *search)
{
    const struct assignment_program *program = search->program;
    glp_prob *problem = search->problem;
    uint32_t amounts = program->length_count + program->liquid_count;
    glp_add_rows(problem, (int)(2 * program->bins + amounts));
    for (uint32_t b = 0; b < program->bins; b++) {
        glp_set_row_bnds(problem, token_row(b), GLP_UP, 0, 1);
        double most = b < program->capped ? program->cap / square(program->room) : 0;
        glp_set_row_bnds(problem, work_row(program, b), GLP_UP, 0, most);
    }
    for (uint32_t i = 0; i < program->length_count; i++)
        glp_set_row_bnds(problem, amount_row(program, i), GLP_FX, 1, 1);
    for (uint32_t l = 0; l < program->liquid_count; l++) {
        double tokens = program->liquids[l].tokens / program->room;
        glp_set_row_bnds(problem, amount_row(program, program->length_count + l), GLP_FX, tokens,
                         tokens);
    }
}

/* The column that is minimised: minus it stands in every bin's row of work. */
static void add_largest(const struct search *search)
{
    const struct assignment_program *program = search->program;
    uint32_t bins = program->bins - program->capped;
    int column = glp_add_cols(search->problem, 1);
    glp_set_obj_dir(search->problem, GLP_MIN);
    glp_set_obj_coef(search->problem, column, 1);
    /* No bin can have more than its room squared, and large bounds cost precision. */
    glp_set_col_bnds(search->problem, column, GLP_DB, 0,
                     fmin(1, program->beat / square(program->room)));
    for (uint32_t b = 0; b < bins; b++) {
        search->rows[b + 1] = work_row(program, program->capped + b);
        search->values[b + 1] = -1;
    }
    glp_set_mat_col(search->problem, column, (int)bins, search->rows, search->values);
}

/* One unit of an amount in one bin. */
static int add_share(const struct search *search, uint32_t amount, uint32_t bin, double tokens,
                     double work)
{
    const struct assignment_program *program = search->program;
    int rows[] = { 0, token_row(bin), work_row(program, bin), amount_row(program, amount) };
    double values[] = { 0, tokens, work, 1 };
    int column = glp_add_cols(search->problem, 1);
    glp_set_mat_col(search->problem, column, 3, rows, values);
    return column;
}

static void add_columns(struct search *search)
{
    const struct assignment_program *program = search->program;
    add_largest(search);
    for (uint32_t i = 0; i < program->length_count; i++) {
        double length = (double)program->lengths[i] / program->room;
        for (uint32_t b = 0; b < program->bins; b++)
            if (allowed(program, i, b))
                glp_set_col_kind(search->problem, add_share(search, i, b, length, length * length),
                                 GLP_BV);
    }
    search->first_liquid = glp_get_num_cols(search->problem) + 1;
    for (uint32_t l = 0; l < program->liquid_count; l++)
        for (uint32_t b = 0; b < program->bins; b++) {
            double work = program->liquids[l].length / program->room;
            int column = add_share(search, program->length_count + l, b, 1, work);
            glp_set_col_bnds(search->problem, column, GLP_LO, 0, 0);
        }
}

/* Called by the library at every turn of the search. */
static void watch(glp_tree *tree, void *context)
{
    struct search *search = context;
    int nodes;
    glp_ios_tree_size(tree, NULL, NULL, &nodes);
    search->nodes = (uint64_t)nodes;
    if (glp_ios_reason(tree) != GLP_ISELECT)
        return;
    int best = glp_ios_best_node(tree);
    if (best)
        search->bound = glp_ios_node_bound(tree, best);
    if (search->nodes >= search->program->node_limit)
        glp_ios_terminate(tree);
}

static int give_up(int code, const struct assignment_program *program, struct error *err)
{
    if (code == GLP_ETMLIM)
        return error_set(err, EX_TEMPFAIL,
                         "packing.solver_time_ms: %u pieces over %u micro-batches took longer than "
                         "%u ms: plans must not depend on the clock, so raise it, or lower "
                         "packing.solver_nodes (%llu) or packing.window",
                         program->length_count, program->bins, program->time_limit_ms,
                         (unsigned long long)program->node_limit);
    return error_set(err, EX_SOFTWARE,
                     "packing: the solver failed (%s, code %d) on %u pieces over "
                     "%u micro-batches: use packing.policy: fixed-greedy",
                     assignment_library(), code, program->length_count, program->bins);
}

/* The relaxation without integers, where the search begins. */
static int relax(const struct search *search, bool *ret_feasible, struct error *err)
{
    glp_smcp options;
    glp_init_smcp(&options);
    options.msg_lev = GLP_MSG_OFF;
    options.tm_lim = (int)search->program->time_limit_ms;
    int code = glp_simplex(search->problem, &options);
    if (code)
        return give_up(code, search->program, err);
    *ret_feasible = glp_get_status(search->problem) == GLP_OPT;
    return 0;
}

static int branch(struct search *search, bool *ret_ended, struct error *err)
{
    glp_iocp options;
    glp_init_iocp(&options);
    options.msg_lev = GLP_MSG_OFF;
    options.tm_lim = (int)search->program->time_limit_ms;
    options.mip_gap = GAP;
    options.br_tech = GLP_BR_DTH;
    options.bt_tech = GLP_BT_BLB;
    options.cb_func = watch;
    options.cb_info = search;
    search->bound = glp_get_obj_val(search->problem);
    int code = glp_intopt(search->problem, &options);
    *ret_ended = code == 0;
    /* The search knows better bounds than those seen on the way. */
    if (code == GLP_EMIPGAP)
        search->bound = glp_mip_obj_val(search->problem) * (1 - GAP);
    return code == 0 || code == GLP_ESTOP || code == GLP_EMIPGAP
               ? 0
               : give_up(code, search->program, err);
}

static void read_groups(const struct search *search, uint32_t *groups)
{
    const struct assignment_program *program = search->program;
    int column = 2;
    for (uint32_t i = 0; i < program->length_count; i++)
        for (uint32_t b = 0; b < program->bins; b++)
            if (allowed(program, i, b) && glp_mip_col_val(search->problem, column++) > 0.5)
                groups[i] = b;
}

static int search_program(struct search *search, uint32_t *groups,
                          struct assignment_solution *solution, struct error *err)
{
    double scale = square(search->program->room);
    bool feasible = false, ended = false;
    *solution = (struct assignment_solution){ .bound = search->program->beat };
    add_rows(search);
    add_columns(search);
    int status = relax(search, &feasible, err);
    if (status || !feasible)
        return status;
    status = branch(search, &ended, err);
    if (status)
        return status;
    int found = glp_mip_status(search->problem);
    solution->nodes = search->nodes;
    solution->found = found == GLP_OPT || found == GLP_FEAS;
    if (solution->found)
        read_groups(search, groups);
    if (!ended)
        solution->bound = search->bound * scale * (1 - TOLERANCE);
    else if (solution->found)
        solution->bound = glp_mip_obj_val(search->problem) * scale * (1 - TOLERANCE);
    return 0;
}

int assignment_solve(const struct assignment_program *program, uint32_t *groups,
                     struct assignment_solution *ret_solution, struct error *err)
{
    struct search search = { .program = program };
    search.rows = calloc(program->bins + 1, sizeof *search.rows);
    search.values = calloc(program->bins + 1, sizeof *search.values);
    int status = 0;
    if (search.rows && search.values) {
        glp_term_out(GLP_OFF);
        search.problem = glp_create_prob();
        status = search_program(&search, groups, ret_solution, err);
        glp_delete_prob(search.problem);
        glp_free_env(); /* this thread's; nothing of it is kept from one program to the next */
    } else {
        status = error_memory(err, "packing");
    }
    free(search.rows);
    free(search.values);
    return status;
}

const char *assignment_library(void)
{
    static const char name[] =
        "GLPK " VERSION_TEXT(GLP_MAJOR_VERSION) "." VERSION_TEXT(GLP_MINOR_VERSION);
    return name;
}
