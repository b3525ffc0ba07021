/* Writes the seeds of fuzz_client_reply into the directory named: whole batches, and damaged ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/client_input.h"
#include "support/fake_batch.h"
#include "support/temp_dir.h"

static void append(unsigned char *seed, size_t *at, const void *bytes, size_t count)
{
    if (count)
        memcpy(seed + *at, bytes, count);
    *at += count;
}

static void write_seed(const char *directory, const char *name, const struct fake_batch *batch)
{
    size_t header_bytes = wire_encoded_bytes(&batch->header.base), at = 0;
    const uint16_t sizes[CLIENT_INPUT_SIZES] = { (uint16_t)header_bytes,
                                                 (uint16_t)batch->pieces_bytes,
                                                 (uint16_t)batch->chunks_bytes };
    unsigned char *header = malloc(header_bytes);
    unsigned char *seed = malloc(sizeof sizes + header_bytes + batch->pieces_bytes +
                                 batch->chunks_bytes + batch->tokens_bytes);
    if (!header || !seed)
        abort();
    wire_encode(&batch->header.base, header);
    append(seed, &at, sizes, sizeof sizes);
    append(seed, &at, header, header_bytes);
    append(seed, &at, batch->pieces, batch->pieces_bytes);
    append(seed, &at, batch->chunks, batch->chunks_bytes);
    append(seed, &at, batch->tokens, batch->tokens_bytes);
    char path[TEMP_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    file_write(path, seed, at);
    free(header);
    free(seed);
}

static void write_seeds(const char *directory, const char *name, const struct fake_job *job)
{
    Ballast__V1__GetBatch get = BALLAST__V1__GET_BATCH__INIT;
    get.step = 3;
    get.microbatch = 1;
    get.cp_rank = 1;
    get.parts = 7;
    for (int damage = FAKE_WHOLE; damage < FAKE_DAMAGES; damage++) {
        const struct fake_behaviour behaviour = { .damage = (enum fake_damage)damage };
        struct fake_batch batch;
        char file[64];
        fake_batch_init(&batch, job, &get, &behaviour, 0);
        snprintf(file, sizeof file, "%s-%d", name, damage);
        write_seed(directory, file, &batch);
        fake_batch_fini(&batch);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    mkdir(argv[1], 0777);
    struct fake_job job = fake_job_small();
    job.cp = 2;
    job.pad_to_multiple = 16;
    job.continued = 1;
    write_seeds(argv[1], "narrow", &job);
    job.vocab_size = 0;
    job.lengths[1] = 3;
    write_seeds(argv[1], "wide", &job);
    return 0;
}
