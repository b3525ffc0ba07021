/*
 * Cost tables: latencies that were measured, as a CSV (DESIGN section 8). Whoever can time a kernel
 * can write one:
 *
 *     # ballast cost table 1
 *     # device: NVIDIA H100 SXM
 *     # dtype: bf16
 *     # heads: 64
 *     # head_dim: 128
 *     # kernel: flash-attention 2.7.4
 *     # unit: us
 *     op,tp,cp,q,kv,latency
 *     attention,8,1,1024,1024,12.465
 *     attention,8,1,2048,2048,31.940
 *     attention,8,2,512,768,7.793
 *     linear,8,1,32768,0,4902.340
 *
 * - The first line is as above. All six comments `# key: value` must be there, before the line with
 *   the names of the columns; other comments may stand anywhere. `unit` is ns, us or ms, that of
 *   `latency`, a decimal number. The other comments say what was measured; nothing is computed from
 *   them.
 * - A row says what one rank takes for its share of something that tp x cp ranks do together, over
 *   all layers and passes that the table stands for; q is its share of the tokens.
 * - `attention`: one document of q x cp tokens, causal. Its queries meet kv keys: kv = q where cp
 * is 1, else from q to q x cp. What a launch costs, however many documents it is for, does not
 * belong into the figure. Two rows or more for each tp and cp that is used; longer documents do not
 * take less time.
 * - `linear`: everything else (GEMMs, collectives, element-wise work) for q tokens, kv = 0. One row
 *   for each tp and cp that is used.
 *
 * Rows of a job are those of its tp and cp; where there are none of its cp, those of cp 1, which
 * then count the work of all cp ranks together. Between lengths: cost/curve.h. Beyond the longest:
 * the configuration refuses, or extrapolates if told to.
 */
#ifndef BALLAST_COST_TABLE_H
#define BALLAST_COST_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cost/curve.h"

#define COST_TABLE_MAX_BYTES (1u << 20)

/* What a table says about one tp and cp. */
struct cost_table {
    struct cost_curve attention; /* attention.count 0: there is no table */
    uint64_t linear;             /* ps, of one token of a document */
    uint32_t cp;                 /* ranks that share a document; each needs these times */
    uint32_t longest;            /* measured document, in tokens */
};

/*
 * Reads `path`, a regular file. EX_CONFIG, one line with file, line, field, found and expected;
 * EX_OSERR out of memory. *ret_table is untouched on failure.
 */
int cost_table_load(const char *path, uint32_t tp, uint32_t cp, struct cost_table *ret_table,
                    struct error *err);

/* The same from text; `name` stands for the path in errors. */
int cost_table_parse(const char *name, const char *text, size_t bytes, uint32_t tp, uint32_t cp,
                     struct cost_table *ret_table, struct error *err);

#endif
