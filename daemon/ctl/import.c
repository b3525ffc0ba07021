#include "ctl/import.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ctl/import_output.h"
#include "ctl/import_text.h"

#define U16_CODE 8
#define TOKEN_BYTES 2

struct import {
    struct import_output output;
    struct import_facts facts;
    int32_t *lengths; /* of each document, in tokens */
    size_t length_capacity;
    char *last; /* path of the file before */
    size_t last_capacity;
    import_progress *progress;
    void *context;
};

static int add_file(struct import *import, const char *path, struct error *err)
{
    size_t documents = (size_t)import->facts.documents;
    if (!grow(import->lengths, &import->length_capacity, documents + 1))
        return error_memory(err, "importing text");
    uint32_t tokens;
    int code = import_append(path, &import->output.data, &tokens, err);
    if (code)
        return code;
    if (tokens == 0) {
        import->facts.skipped++;
        return 0;
    }
    import->lengths[documents] = (int32_t)tokens;
    import->facts.documents++;
    import->facts.tokens += tokens;
    if (import->progress && !import->progress(import->context, path, &import->facts))
        return error_set(err, EX_TEMPFAIL, "import stopped after %s", path);
    return 0;
}

/* As the walk takes paths: by the names in a directory, a name before those that it begins. */
static int compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    int left = *a == '/' ? 0 : (unsigned char)*a, right = *b == '/' ? 0 : (unsigned char)*b;
    return left - right;
}

/* fts does not sort a directory for which it finds no memory, and does not say so. */
static int check_order(struct import *import, const char *path, struct error *err)
{
    size_t bytes = strlen(path) + 1;
    bool sorted = !import->last || compare_paths(import->last, path) < 0;
    if (!sorted || !grow(import->last, &import->last_capacity, bytes) || !import->last)
        return error_memory(err, "sorting a directory");
    memcpy(import->last, path, bytes);
    return 0;
}

static int visit(struct import *import, const FTSENT *entry, struct error *err)
{
    int code;
    switch (entry->fts_info) {
    case FTS_D:
    case FTS_DP:
        return 0;
    case FTS_F:
        if (import_output_owns(&import->output, entry->fts_statp))
            return 0;
        if ((code = check_order(import, entry->fts_path, err)))
            return code;
        return add_file(import, entry->fts_path, err);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        return error_set(err, error_of_input(entry->fts_errno), "%s: cannot be read: %s",
                         entry->fts_path, strerror(entry->fts_errno));
    default: /* links, devices, sockets, FIFOs, loops */
        import->facts.skipped++;
        return 0;
    }
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int walk(struct import *import, FTS *tree, const char *path, struct error *err)
{
    for (;;) {
        errno = 0;
        const FTSENT *entry = fts_read(tree);
        if (!entry && errno)
            return error_set(err, error_of_input(errno), "%s: cannot be walked: %s", path,
                             strerror(errno));
        if (!entry)
            return 0;
        int code = visit(import, entry, err);
        if (code)
            return code;
    }
}

static int add_tree(struct import *import, char *path, struct error *err)
{
    char *roots[] = { path, NULL };
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (!tree)
        return error_set(err, error_of_input(errno), "'%s': cannot be read: %s", path,
                         strerror(errno));
    int code = walk(import, tree, path, err);
    fts_close(tree);
    free(import->last);
    import->last = NULL;
    import->last_capacity = 0;
    return code;
}

/* `count` little-endian u64: 0, then each one more by lengths[i] x scale, or by scale alone. */
static int write_running_sum(struct import_file *index, const int32_t *lengths, uint64_t count,
                             uint64_t scale, struct error *err)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        int code = import_file_write(index, &sum, sizeof sum, err);
        if (code)
            return code;
        sum += lengths ? (uint64_t)lengths[i] * scale : scale;
    }
    return 0;
}

/* FORMATS.md, Megatron: every document is one sequence. */
static int write_index(struct import *import, struct error *err)
{
    struct import_file *index = &import->output.index;
    uint64_t documents = import->facts.documents;
    const uint64_t version = 1, counts[] = { documents, documents + 1 };
    const uint8_t dtype = U16_CODE;
    int code;
    if ((code = import_file_write(index, "MMIDIDX\0", 9, err)) ||
        (code = import_file_write(index, &version, sizeof version, err)) ||
        (code = import_file_write(index, &dtype, sizeof dtype, err)) ||
        (code = import_file_write(index, counts, sizeof counts, err)) ||
        (code =
             import_file_write(index, import->lengths, documents * sizeof *import->lengths, err)) ||
        (code = write_running_sum(index, import->lengths, documents, TOKEN_BYTES, err)) ||
        (code = write_running_sum(index, NULL, documents + 1, 1, err)))
        return code;
    return 0;
}

static int run(struct import *import, const char *prefix, char *const *paths, size_t path_count,
               struct error *err)
{
    int code = import_output_open(&import->output, prefix, err);
    for (size_t i = 0; i < path_count && !code; i++)
        code = add_tree(import, paths[i], err);
    if (!code && import->facts.documents == 0)
        code = error_set(
            err, EX_NOINPUT,
            "no text was found: expected a regular file that is not empty in what PATH names");
    if (!code)
        code = write_index(import, err);
    if (!code)
        code = import_output_commit(&import->output, err);
    return code;
}

int import_text(const char *prefix, char *const *paths, size_t path_count,
                import_progress *progress, void *context, struct import_facts *ret_facts,
                struct error *err)
{
    struct import import = { .progress = progress, .context = context };
    int code = run(&import, prefix, paths, path_count, err);
    if (!code)
        *ret_facts = import.facts;
    import_output_discard(&import.output);
    free(import.lengths);
    return code;
}
