/* Writes the seeds of fuzz_megatron_index into the directory named: good pairs of every kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/shards.h"
#include "support/temp_dir.h"

static void write_seed(const struct megatron_pair *pair, const char *directory, const char *name)
{
    size_t count;
    unsigned char *index = megatron_pair_index(pair, &count);
    uint16_t data_bytes = (uint16_t)pair->token_bytes;
    unsigned char *seed = malloc(sizeof data_bytes + count);
    if (!seed)
        abort();
    memcpy(seed, &data_bytes, sizeof data_bytes);
    memcpy(seed + sizeof data_bytes, index, count);
    char path[TEMP_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    file_write(path, seed, sizeof data_bytes + count);
    free(seed);
    free(index);
}

static void write_seeds(const char *directory)
{
    static const int32_t lengths[] = { 3, 0, 5, 40, 1 };
    static const int64_t documents[] = { 0, 2, 2, 4, 5 };
    for (unsigned dtype = MEGATRON_U8; dtype <= MEGATRON_U16; dtype++) {
        char name[32];
        struct megatron_pair *pair = megatron_pair_new((uint8_t)dtype, lengths, 5);
        snprintf(name, sizeof name, "plain-%u", dtype);
        write_seed(pair, directory, name);
        megatron_pair_set_documents(pair, documents, 5);
        snprintf(name, sizeof name, "documents-%u", dtype);
        write_seed(pair, directory, name);
        megatron_pair_free(pair);
    }
    struct megatron_pair *pair = megatron_pair_new(MEGATRON_U16, lengths, 5);
    pair->mode_count = 5;
    write_seed(pair, directory, "multimodal");
    pair->mode_count = 0;
    pair->fairseq_header = true;
    write_seed(pair, directory, "fairseq");
    megatron_pair_free(pair);
    pair = megatron_pair_new(MEGATRON_I32, NULL, 0);
    write_seed(pair, directory, "empty");
    megatron_pair_free(pair);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    mkdir(argv[1], 0777);
    write_seeds(argv[1]);
    return 0;
}
