/* Writes the golden messages, one header frame a file, into the directory named. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support/temp_dir.h"
#include "unit/proto/samples.h"
#include "wire/frame.h"

static void write_sample(const struct sample *sample, const char *directory)
{
    size_t count = wire_encoded_bytes(sample->message);
    unsigned char *frame = malloc(count);
    if (!frame)
        abort();
    wire_encode(sample->message, frame);
    char path[TEMP_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", directory, sample->name);
    file_write(path, frame, count);
    free(frame);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    mkdir(argv[1], 0777);
    for (size_t i = 0; i < sample_count; i++)
        write_sample(&samples[i], argv[1]);
    return 0;
}
