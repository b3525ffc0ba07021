#include "corpus/shard_paths.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "corpus/shard.h"

static bool exists(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

/* The first `length` bytes of `path`, then `ending`. */
static char *with_ending(const char *path, size_t length, const char *ending)
{
    size_t tail = strlen(ending) + 1;
    char *joined = malloc(length + tail);
    if (!joined)
        return NULL;
    memcpy(joined, path, length);
    memcpy(joined + length, ending, tail);
    return joined;
}

int pair_index_path(const char *path, char **ret_path, struct error *err)
{
    bool is_prefix = !ends_in(path, ".idx") && !ends_in(path, ".bin");
    size_t stem = strlen(path) - (is_prefix ? 0 : 4);
    char *index_path = with_ending(path, stem, ".idx");
    if (!index_path)
        return error_memory(err, "listing shards");
    if (is_prefix && !exists(index_path)) {
        free(index_path);
        index_path = NULL;
    }
    *ret_path = index_path;
    return 0;
}

/* Takes over `path`, also on failure. */
static int add_path(struct shard_paths *paths, char *path, struct error *err)
{
    if (!grow(paths->items, &paths->capacity, paths->count + 1)) {
        free(path);
        return error_memory(err, "listing shards");
    }
    struct shard_path item = { .path = path };
    struct stat facts;
    if (stat(path, &facts) == 0) {
        item.bytes = (uint64_t)facts.st_size;
        item.device = facts.st_dev;
        item.inode = facts.st_ino;
    }
    paths->items[paths->count++] = item;
    return 0;
}

static int add_match(const struct source_spec *spec, const char *pattern, const char *match,
                     struct shard_paths *paths, struct error *err)
{
    if (!shard_format_of(spec->format)->has_pair) {
        char *copy = strdup(match);
        return copy ? add_path(paths, copy, err) : error_memory(err, "listing shards");
    }
    char *index_path;
    int code = pair_index_path(match, &index_path, err);
    if (code)
        return code;
    if (!index_path)
        return error_set(err, EX_CONFIG,
                         "'%s' matches %s, which is neither .idx nor .bin and has no .idx beside "
                         "it: narrow the pattern",
                         pattern, match);
    return add_path(paths, index_path, err);
}

static int refuse_glob(const char *pattern, int result, int cause, struct error *err)
{
    if (result == GLOB_NOSPACE)
        return error_memory(err, "listing shards");
    return error_set(err, error_of_input(cause), "'%s': a directory cannot be read: %s", pattern,
                     strerror(cause));
}

/* Adds what `pattern` matches, and how many to *matches. `named` is the pattern for errors. */
static int add_glob(const struct source_spec *spec, const char *pattern, const char *named,
                    struct shard_paths *paths, size_t *matches, struct error *err)
{
    glob_t found = { 0 };
    int result = glob(pattern, GLOB_NOSORT | GLOB_ERR, NULL, &found);
    /* A directory that is missing matches nothing; one that cannot be read may hide shards. */
    int cause = errno;
    if (result == GLOB_ABORTED && cause == ENOENT)
        result = GLOB_NOMATCH;
    int code = 0;
    if (result != 0 && result != GLOB_NOMATCH)
        code = refuse_glob(named, result, cause, err);
    size_t count = result == 0 ? found.gl_pathc : 0;
    for (size_t i = 0; i < count && !code; i++)
        code = add_match(spec, named, found.gl_pathv[i], paths, err);
    globfree(&found);
    *matches += count;
    return code;
}

/* The indices of pairs whose prefixes match the first `stem` bytes of `pattern`. */
static int add_index_glob(const struct source_spec *spec, const char *pattern, size_t stem,
                          struct shard_paths *paths, size_t *matches, struct error *err)
{
    char *index_pattern = with_ending(pattern, stem, ".idx");
    if (!index_pattern)
        return error_memory(err, "listing shards");
    int code = add_glob(spec, index_pattern, pattern, paths, matches, err);
    free(index_pattern);
    return code;
}

static int add_pattern(const struct source_spec *spec, const char *pattern,
                       struct shard_paths *paths, struct error *err)
{
    if (exists(pattern)) /* also when its name holds characters that globs know */
        return add_match(spec, pattern, pattern, paths, err);
    bool pairs = shard_format_of(spec->format)->has_pair;
    size_t matches = 0, length = strlen(pattern);
    int code = add_glob(spec, pattern, pattern, paths, &matches, err);
    if (!code && pairs && ends_in(pattern, ".bin")) /* a pair may have lost its data */
        code = add_index_glob(spec, pattern, length - 4, paths, &matches, err);
    if (!code && pairs && matches == 0) /* a bare prefix, or a glob of bare prefixes */
        code = add_index_glob(spec, pattern, length, paths, &matches, err);
    if (!code && matches == 0)
        code = error_set(err, EX_NOINPUT, "'%s' matches no file: check the path", pattern);
    return code;
}

static int by_name(const void *a, const void *b)
{
    const struct shard_path *left = a, *right = b;
    return strcmp(left->path, right->path);
}

static void merge_equal(struct shard_paths *paths)
{
    size_t kept = 0;
    for (size_t i = 0; i < paths->count; i++) {
        if (kept > 0 && strcmp(paths->items[kept - 1].path, paths->items[i].path) == 0)
            free(paths->items[i].path);
        else
            paths->items[kept++] = paths->items[i];
    }
    paths->count = kept;
}

static int by_inode(const void *a, const void *b)
{
    const struct shard_path *left = *(const struct shard_path *const *)a;
    const struct shard_path *right = *(const struct shard_path *const *)b;
    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    if (left->inode != right->inode)
        return left->inode < right->inode ? -1 : 1;
    return strcmp(left->path, right->path);
}

/* One file under two names (a link, `./`) would be served twice an epoch. */
static int refuse_aliases(const struct shard_paths *paths, struct error *err)
{
    const struct shard_path **order = malloc(paths->count * sizeof *order);
    if (!order)
        return error_memory(err, "listing shards");
    for (size_t i = 0; i < paths->count; i++)
        order[i] = &paths->items[i];
    qsort(order, paths->count, sizeof *order, by_inode);
    int code = 0;
    for (size_t i = 1; i < paths->count && !code; i++) {
        const struct shard_path *a = order[i - 1], *b = order[i];
        bool known = b->inode != 0; /* what cannot be read is refused when it is opened */
        if (known && a->inode == b->inode && a->device == b->device)
            code = error_set(err, EX_CONFIG,
                             "%s and %s are the same file: name it once; to see a source more "
                             "often, raise its weight or epochs",
                             a->path, b->path);
    }
    free(order);
    return code;
}

int shard_paths_find(const struct source_spec *spec, struct shard_paths *paths, struct error *err)
{
    for (unsigned i = 0; i < spec->path_count; i++) {
        int code = add_pattern(spec, spec->paths[i], paths, err);
        if (code)
            return code;
    }
    if (paths->count == 0)
        return error_set(err, EX_CONFIG, "has no paths, expected at least one file or glob");
    qsort(paths->items, paths->count, sizeof *paths->items, by_name);
    merge_equal(paths);
    return refuse_aliases(paths, err);
}

void shard_paths_fini(struct shard_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->items[i].path);
    free(paths->items);
    *paths = (struct shard_paths){ 0 };
}
