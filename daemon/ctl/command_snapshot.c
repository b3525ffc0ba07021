/* ballastctl snapshot: the planner's state goes to disk now. */
#include "ctl/daemon.h"
#include "ctl/human.h"

static int show_snapshot(json_t *answer, struct output *out, struct error *err)
{
    json_int_t step, bytes;
    const char *directory;
    json_error_t why;
    if (json_unpack_ex(answer, &why, 0, "{sI sI ss}", "step", &step, "bytes", &bytes, "directory",
                       &directory))
        return daemon_misfit(&why, err);
    char number[HUMAN_BYTES], size[HUMAN_BYTES];
    output_print(out, "saved before step %s, %s in %s\n", human_count((uint64_t)step, number),
                 human_bytes((uint64_t)bytes, size), directory);
    return 0;
}

int run_snapshot(const struct arguments *arguments, struct output *out, struct error *err)
{
    return daemon_ask(arguments, show_snapshot, out, err);
}
