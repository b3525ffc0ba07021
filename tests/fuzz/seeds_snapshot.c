/* Writes the seeds of fuzz_snapshot into the directory named. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "state/snapshot.h"
#include "support/temp_dir.h"

static void write_seed(const char *directory, const char *name, const struct planner_state *state)
{
    struct digest job = { { 1, 2, 3 } };
    void *bytes;
    size_t count;
    char path[TEMP_PATH_BYTES];
    if (snapshot_encode(state, job, &bytes, &count, NULL))
        abort();
    snprintf(path, sizeof path, "%s/%s", directory, name);
    file_write(path, bytes, count);
    free(bytes);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    struct source_cursor cursors[2] = { { .epoch = 3, .position = 7, .offset = 100 }, { 0 } };
    struct waiting_piece waiting[3] = { { .piece = { 5, 0, 12, 400, 0, 1 }, .place = 1 },
                                        { .piece = { 6, 512, 13, 512, 1, 0 } },
                                        { .piece = { 7, 0, 14, 1, 1, 1 }, .place = 2 } };
    struct planner_state state = { .next_step = 15,
                                   .cursors = cursors,
                                   .cursor_count = 2,
                                   .waiting = waiting,
                                   .waiting_count = 3 };
    mkdir(argv[1], 0777);
    write_seed(argv[1], "plain", &state);
    state.waiting_count = 0;
    state.cursor_count = 1;
    cursors[0] = (struct source_cursor){ 0 };
    write_seed(argv[1], "start", &state);
    state.ended = state.finished = true;
    write_seed(argv[1], "finished", &state);
    return 0;
}
