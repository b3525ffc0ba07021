#include "ctl/import_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/again.h"

static int create_file(struct import_file *file, const char *prefix, const char *ending,
                       struct error *err)
{
    if (asprintf(&file->path, "%s.%s", prefix, ending) < 0) {
        file->path = NULL;
        return error_memory(err, "naming the shard");
    }
    char *temporary;
    if (asprintf(&temporary, "%s.tmp-%ld", file->path, (long)getpid()) < 0)
        return error_memory(err, "naming the shard");
    int fd = open_again(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    file->stream = fd < 0 ? NULL : fdopen(fd, "wb");
    if (file->stream) {
        file->temporary = temporary;
        return 0;
    }
    int code = error_set(err, EX_CANTCREAT,
                         "%s: cannot be created: %s; its directory must exist and be writable",
                         file->path, strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(temporary);
    }
    free(temporary);
    return code;
}

int import_output_open(struct import_output *output, const char *prefix, struct error *err)
{
    int code = create_file(&output->data, prefix, "bin", err);
    return code ? code : create_file(&output->index, prefix, "idx", err);
}

static bool same_file(const char *path, const struct stat *facts)
{
    struct stat own;
    return path && stat(path, &own) == 0 && own.st_dev == facts->st_dev &&
           own.st_ino == facts->st_ino;
}

bool import_output_owns(const struct import_output *output, const struct stat *facts)
{
    return same_file(output->data.temporary, facts) || same_file(output->index.temporary, facts) ||
           same_file(output->data.path, facts) || same_file(output->index.path, facts);
}

static int refuse_write(const struct import_file *file, int cause, struct error *err)
{
    return error_set(err, EX_IOERR, "%s: cannot be written: %s", file->path, strerror(cause));
}

int import_file_write(struct import_file *file, const void *bytes, size_t count, struct error *err)
{
    if (count == 0 || fwrite(bytes, 1, count, file->stream) == count)
        return 0;
    return refuse_write(file, errno, err);
}

static int finish_file(struct import_file *file, struct error *err)
{
    int cause = fflush(file->stream) || fsync_again(fileno(file->stream)) ? errno : 0;
    if (fclose(file->stream) && !cause)
        cause = errno;
    file->stream = NULL;
    return cause ? refuse_write(file, cause, err) : 0;
}

static int place_file(struct import_file *file, struct error *err)
{
    if (rename(file->temporary, file->path))
        return refuse_write(file, errno, err);
    free(file->temporary);
    file->temporary = NULL;
    return 0;
}

/* So that the names survive a power cut; a file system that cannot is no reason to fail. */
static void sync_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = directory ? open_again(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) : -1;
    if (fd >= 0) {
        fsync_again(fd);
        close(fd);
    }
    free(directory);
}

int import_output_commit(struct import_output *output, struct error *err)
{
    int code = finish_file(&output->data, err);
    if (!code)
        code = finish_file(&output->index, err);
    if (code)
        return code;
    /* An old index must never stand beside new data: without an index there is no shard. */
    if (unlink(output->index.path) && errno != ENOENT)
        return refuse_write(&output->index, errno, err);
    code = place_file(&output->data, err);
    if (code)
        return code;
    code = place_file(&output->index, err);
    if (code) {
        unlink(output->data.path); /* of no use alone */
        return code;
    }
    sync_directory(output->index.path);
    return 0;
}

static void discard_file(struct import_file *file)
{
    if (file->stream)
        fclose(file->stream);
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    *file = (struct import_file){ 0 };
}

void import_output_discard(struct import_output *output)
{
    discard_file(&output->data);
    discard_file(&output->index);
}
