#include "frame_sizes.h"

#include <stdio.h>
#include <stdlib.h>

#include "stream.h"

struct frame_sizes frame_sizes_new(uint32_t clients, uint32_t replies)
{
    struct frame_sizes sizes = { .clients = clients, .replies = replies };
    sizes.of = calloc((size_t)clients * replies, sizeof *sizes.of);
    if (!sizes.of)
        die("out of memory");
    return sizes;
}

void frame_sizes_free(struct frame_sizes *sizes)
{
    free(sizes->of);
    *sizes = (struct frame_sizes){ 0 };
}

void frame_sizes_write(const struct frame_sizes *sizes, const char *path)
{
    FILE *file = fopen(path, "wb");
    uint32_t head[2] = { sizes->clients, sizes->replies };
    size_t count = (size_t)sizes->clients * sizes->replies;
    if (!file || fwrite(head, sizeof head, 1, file) != 1 ||
        fwrite(sizes->of, sizeof *sizes->of, count, file) != count || fclose(file) != 0)
        die("cannot write the sizes file");
}

struct frame_sizes frame_sizes_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint32_t head[2];
    if (!file || fread(head, sizeof head, 1, file) != 1)
        die("cannot read the sizes file");
    struct frame_sizes sizes = frame_sizes_new(head[0], head[1]);
    size_t count = (size_t)sizes.clients * sizes.replies;
    if (fread(sizes.of, sizeof *sizes.of, count, file) != count)
        die("the sizes file is cut off");
    fclose(file);
    return sizes;
}
