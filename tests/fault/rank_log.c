#include "fault/rank_log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static void fail(const char *what)
{
    perror(what);
    abort();
}

static uint64_t check_of(const struct checkpoint *checkpoint)
{
    return XXH3_64bits(checkpoint, offsetof(struct checkpoint, check));
}

static int open_file(const char *directory, uint32_t dp, uint32_t cp, const char *kind)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%u-%u.%s", directory, dp, cp, kind);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        fail(path);
    return file;
}

/* The last whole checkpoint; what was torn by a kill is cut off. */
static bool read_last(int file, struct checkpoint *ret_last)
{
    struct checkpoint checkpoint;
    off_t whole = 0;
    while (pread(file, &checkpoint, sizeof checkpoint, whole) == sizeof checkpoint &&
           checkpoint.check == check_of(&checkpoint)) {
        *ret_last = checkpoint;
        whole += (off_t)sizeof checkpoint;
    }
    if (ftruncate(file, whole) != 0 || lseek(file, whole, SEEK_SET) != whole)
        fail("cutting the checkpoints");
    return whole > 0;
}

bool rank_log_open(struct rank_log *log, const char *directory, uint32_t dp, uint32_t cp,
                   struct checkpoint *ret_last)
{
    *log = (struct rank_log){ .steps = open_file(directory, dp, cp, "steps") };
    int stream = open_file(directory, dp, cp, "stream");
    bool found = read_last(log->steps, ret_last);
    log->stream_bytes = found ? ret_last->stream_bytes : 0;
    off_t end = (off_t)log->stream_bytes;
    if (ftruncate(stream, end) != 0 || lseek(stream, end, SEEK_SET) != end)
        fail("cutting the stream");
    log->stream = fdopen(stream, "r+");
    if (!log->stream)
        fail("opening the stream");
    return found;
}

void rank_log_close(struct rank_log *log)
{
    if (fclose(log->stream) != 0 || close(log->steps) != 0)
        fail("closing the log");
}

static void put(struct rank_log *log, const void *bytes, size_t size, size_t count)
{
    if (count && fwrite(bytes, size, count, log->stream) != count)
        fail("writing the stream");
    log->stream_bytes += size * count;
}

void rank_log_batch(struct rank_log *log, const ballast_view *view)
{
    struct batch_record record = { .step = view->step,
                                   .step_tokens = view->step_tokens,
                                   .step_loss_tokens = view->step_loss_tokens,
                                   .workload = view->workload,
                                   .microbatch = view->microbatch,
                                   .piece_count = view->piece_count,
                                   .chunk_count = view->rank_chunks[view->cp],
                                   .padded_tokens = view->padded_tokens,
                                   .local_tokens = view->local_tokens,
                                   .local_loss_tokens = view->local_loss_tokens,
                                   .microbatch_tokens = view->microbatch_tokens,
                                   .microbatch_loss_tokens = view->microbatch_loss_tokens };
    memcpy(record.digest, view->digest, sizeof record.digest);
    memcpy(log->digest, view->digest, sizeof log->digest);
    put(log, &record, sizeof record, 1);
    put(log, view->pieces, sizeof *view->pieces, record.piece_count);
    put(log, view->chunks, sizeof *view->chunks, record.chunk_count);
    put(log, view->tokens, sizeof *view->tokens, record.padded_tokens);
    put(log, view->labels, sizeof *view->labels, record.padded_tokens);
    put(log, view->positions, sizeof *view->positions, record.padded_tokens);
}

void rank_log_step(struct rank_log *log, uint64_t step)
{
    struct checkpoint checkpoint = { .step = step, .stream_bytes = log->stream_bytes };
    memcpy(checkpoint.digest, log->digest, sizeof checkpoint.digest);
    checkpoint.check = check_of(&checkpoint);
    if (fflush(log->stream) != 0)
        fail("writing the stream");
    if (write(log->steps, &checkpoint, sizeof checkpoint) != sizeof checkpoint)
        fail("writing a checkpoint");
}
