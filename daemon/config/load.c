#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/again.h"
#include "config/config.h"
#include "config/yaml_read.h"

static int cannot_read(const char *path, struct error *err)
{
    return error_set(err, error_of_input(errno), "%s: cannot read the configuration: %s", path,
                     strerror(errno));
}

/* One byte more than is allowed, so that config_parse sees a file that is too long as such. */
static int read_file(const char *path, char **ret_text, size_t *ret_bytes, struct error *err)
{
    int fd = open_again(path, O_RDONLY | O_CLOEXEC, 0);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        int status = cannot_read(path, err);
        if (fd >= 0)
            close(fd);
        return status;
    }
    char *text = malloc(YAML_READ_MAX_BYTES + 1);
    if (!text) {
        fclose(file);
        return error_memory(err, "reading the configuration");
    }
    errno = 0;
    size_t bytes = fread(text, 1, YAML_READ_MAX_BYTES + 1, file);
    int status = ferror(file) ? cannot_read(path, err) : 0;
    fclose(file);
    if (status) {
        free(text);
        return status;
    }
    *ret_text = text;
    *ret_bytes = bytes;
    return 0;
}

/* "DIRECTORY/PATH", where characters of the directory that a glob would take are escaped. */
static char *join_path(const char *directory, const char *path)
{
    char *joined = malloc(2 * strlen(directory) + strlen(path) + 2);
    if (!joined)
        return NULL;
    char *to = joined;
    for (const char *from = directory; *from; from++) {
        if (strchr("*?[]\\", *from))
            *to++ = '\\';
        *to++ = *from;
    }
    *to++ = '/';
    memcpy(to, path, strlen(path) + 1);
    return joined;
}

static int place_source(struct source_spec *source, const char *directory, struct error *err)
{
    for (unsigned i = 0; i < source->path_count; i++) {
        if (*source->paths[i] == '/')
            continue;
        char *joined = join_path(directory, source->paths[i]);
        if (!joined)
            return error_memory(err, "reading the configuration");
        free(source->paths[i]);
        source->paths[i] = joined;
    }
    return 0;
}

/* Relative paths count from the directory of the file, wherever the program was started. */
static int place_sources(struct config *config, const char *path, struct error *err)
{
    char *directory = realpath(path, NULL);
    if (!directory)
        return cannot_read(path, err);
    char *slash = strrchr(directory, '/');
    *slash = 0;
    int status = 0;
    for (unsigned i = 0; i < config->source_count && !status; i++)
        status = place_source(&config->sources[i], directory, err);
    free(directory);
    return status;
}

static int place_state(struct config *config, const char *path, struct error *err)
{
    char *directory = config->state.directory;
    if (!directory || *directory == '/')
        return 0;
    char *base = realpath(path, NULL);
    if (!base)
        return cannot_read(path, err);
    *strrchr(base, '/') = 0;
    size_t bytes = strlen(base) + strlen(directory) + 2;
    char *joined = malloc(bytes);
    if (joined) {
        snprintf(joined, bytes, "%s/%s", base, directory);
        free(directory);
        config->state.directory = joined;
    }
    free(base);
    return joined ? 0 : error_memory(err, "reading the configuration");
}

int config_load(const char *path, const struct config_override *overrides, size_t override_count,
                struct config **ret_config, struct error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    int status = read_file(path, &text, &bytes, err);
    if (status)
        return status;
    struct config *config = NULL;
    status = config_parse(path, text, bytes, overrides, override_count, &config, err);
    free(text);
    if (!status)
        status = place_sources(config, path, err);
    if (!status)
        status = place_state(config, path, err);
    if (status)
        config_free(config);
    else
        *ret_config = config;
    return status;
}
