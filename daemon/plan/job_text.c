#include "plan/job_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A line of its own, without what would make it look like fields. */
static void write_left_out(FILE *file, const char *source, const char *path)
{
    const char *slash = strrchr(path, '/');
    fprintf(file, "left out of %s: ", source);
    for (const char *c = slash ? slash + 1 : path; *c; c++)
        fputc((unsigned char)*c <= ' ' || *c == '=' || *c == 127 ? '?' : *c, file);
    fputc('\n', file);
}

static void write_source(FILE *file, const struct source *source)
{
    char digest[DIGEST_TEXT_BYTES];
    for (size_t i = 0; i < source->left_out_count; i++)
        write_left_out(file, source->name, source->left_out[i].path);
    fprintf(file, "corpus %s shards=%zu documents=%" PRIu64 " tokens=%" PRIu64 " fingerprint=%s\n",
            source->name, source->shard_count, source->documents, source->tokens,
            digest_text(source_fingerprint(source), digest));
}

int job_text_new(const char *generation, const char *plan_text, const struct corpus *corpus,
                 char **ret_text, struct error *err)
{
    static const char what[] = "writing the job down";
    struct text text;
    int status = text_open(&text, what, err);
    if (status)
        return status;
    /* Its last word alone: a field has no blanks. */
    const char *blank = strrchr(generation, ' ');
    fprintf(text.file, "generation=%s\n%s", blank ? blank + 1 : generation, plan_text);
    for (size_t i = 0; i < corpus->source_count; i++)
        write_source(text.file, &corpus->sources[i]);
    return text_close(&text, what, ret_text, NULL, err);
}
