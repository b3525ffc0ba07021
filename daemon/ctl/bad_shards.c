#include "ctl/bad_shards.h"

#include <stdio.h>

#include "ctl/output.h"

#define MOST_TOLD 20 /* as far as a person reads on */

static void tell(const struct shard_fault *shards, size_t count, const char *what, size_t *told,
                 struct output *out)
{
    for (size_t i = 0; i < count; i++, ++*told) {
        if (*told >= MOST_TOLD)
            continue;
        output_print(out, "ballastctl: %s: ", what);
        output_safe(out, shards[i].reason);
        output_print(out, "\n");
    }
}

void bad_shards_tell(const struct corpus *corpus, struct progress *progress)
{
    struct output complaint;
    size_t told = 0;
    progress_clear(progress);
    output_init(&complaint, stderr);
    for (size_t i = 0; i < corpus->source_count; i++) {
        const struct source *source = &corpus->sources[i];
        tell(source->left_out, source->left_out_count, "shard left out", &told, &complaint);
        tell(source->unread, source->unread_count, "shard known by its index alone", &told,
             &complaint);
    }
    if (told > MOST_TOLD)
        output_print(&complaint, "ballastctl: and %zu more\n", told - MOST_TOLD);
}
