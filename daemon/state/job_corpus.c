#include "state/job_corpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static const char what[] = "looking for dropped shards";

/* What ledgers drop of one source. */
struct drops {
    struct dropped_shard *shards; /* their names are ours */
    size_t count, capacity;
};

/* The sources of a configuration, and what is dropped of each. */
struct job_sources {
    struct source_spec *specs;
    struct drops *drops;
    size_t count;
};

static void job_sources_fini(struct job_sources *sources)
{
    for (size_t i = 0; sources->drops && i < sources->count; i++) {
        for (size_t j = 0; j < sources->drops[i].count; j++)
            free((char *)(uintptr_t)sources->drops[i].shards[j].name);
        free(sources->drops[i].shards);
    }
    free(sources->drops);
    free(sources->specs);
}

static int job_sources_init(struct job_sources *sources, const struct config *config,
                            struct error *err)
{
    *sources = (struct job_sources){
        .specs = calloc(config->source_count, sizeof *sources->specs),
        .drops = calloc(config->source_count, sizeof *sources->drops),
        .count = config->source_count,
    };
    if (!sources->specs || !sources->drops)
        return error_memory(err, what);
    memcpy(sources->specs, config->sources, sources->count * sizeof *sources->specs);
    return 0;
}

/* Takes over the shard's name. A source that is not there is that of another job. */
static int add_drop(struct job_sources *sources, struct ledger_entry *entry, struct error *err)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct drops *drops = &sources->drops[i];
        if (strcmp(sources->specs[i].name, entry->source) != 0)
            continue;
        if (!grow(drops->shards, &drops->capacity, drops->count + 1))
            return error_memory(err, what);
        drops->shards[drops->count++] = (struct dropped_shard){ entry->shard, entry->shard_name };
        entry->shard_name = NULL;
        break;
    }
    return 0;
}

static int add_ledger(struct job_sources *sources, const struct state_directory *directory,
                      struct digest job, struct error *err)
{
    struct job_ledger ledger = { 0 };
    struct error why = { 0 };
    int status = state_directory_read_ledger(directory, job, &ledger, &why);
    for (size_t i = 0; i < ledger.count && !status; i++)
        if (ledger.entries[i].kind == LEDGER_DROP)
            status = add_drop(sources, &ledger.entries[i], &why);
    job_ledger_fini(&ledger);
    if (!status || status == EX_DATAERR || status == EX_NOINPUT)
        return 0;
    return error_set(err, status, "%s", why.text);
}

static int add_ledgers(struct job_sources *sources, const struct state_directory *directory,
                       struct error *err)
{
    struct state_ledgers ledgers = { 0 };
    if (!directory || directory->fd < 0)
        return 0;
    int status = state_directory_ledgers(directory, &ledgers, err);
    for (size_t i = 0; i < ledgers.count && !status; i++)
        status = add_ledger(sources, directory, ledgers.jobs[i], err);
    free(ledgers.jobs);
    for (size_t i = 0; i < sources->count; i++) {
        sources->specs[i].dropped = sources->drops[i].shards;
        sources->specs[i].dropped_count = sources->drops[i].count;
    }
    return status;
}

int job_corpus_open(const struct config *config, const struct state_directory *directory,
                    corpus_progress *progress, void *context, struct corpus **ret_corpus,
                    struct error *err)
{
    struct job_sources sources;
    int status = job_sources_init(&sources, config, err);
    if (!status)
        status = add_ledgers(&sources, directory, err);
    if (!status)
        status = corpus_open(sources.specs, sources.count, config->vocab_size, progress, context,
                             ret_corpus, err);
    job_sources_fini(&sources);
    return status;
}
