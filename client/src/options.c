#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <zmq.h>

#include "wire/limits.h"

#define VERSION 1
#define DEFAULT_PREFETCH 4
#define DEFAULT_RETRY_MS 800 /* with what follows, a fail-over takes less than a second */
#define LEAST_RETRY_MS 10
#define MOST_RETRY_MS WIRE_MAX_DEADLINE_MS
#define MOST_ENDPOINTS 1024
#define ALIGNMENT 64

/* What earlier headers had: programs built with them go on working. */
#define SIZE_BEFORE_KEYS offsetof(ballast_options, server_key)
#define SIZE_BEFORE_END offsetof(ballast_options, end_step)

static void *default_allocate(void *context, size_t bytes)
{
    (void)context;
    if (bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static void default_release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static bool in_range(const ballast_options *given)
{
    if (!given->endpoints || given->first_step > OPTIONS_MAX_STEP)
        return false;
    if (given->prefetch > OPTIONS_MAX_PREFETCH)
        return false;
    if (given->retry_ms && (given->retry_ms < LEAST_RETRY_MS || given->retry_ms > MOST_RETRY_MS))
        return false;
    if (given->job && strnlen(given->job, WIRE_MAX_NAME_BYTES + 1) > WIRE_MAX_NAME_BYTES)
        return false;
    return !given->allocator || (given->allocator->allocate && given->allocator->release);
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    return false;
}

/*
 * Enough to tell a typing error from an address: ZeroMQ checks the rest when it connects. Control
 * characters, such as the newline of a file that was read, would stand in one-line messages.
 */
static bool endpoint_plausible(const char *endpoint)
{
    if (has_control(endpoint))
        return false;
    if (strncmp(endpoint, "ipc://", 6) == 0)
        return endpoint[6];
    if (strncmp(endpoint, "tcp://", 6) != 0)
        return false;
    const char *colon = strrchr(endpoint + 6, ':');
    return colon && colon > endpoint + 6 && colon[1] &&
           colon[1 + strspn(colon + 1, "0123456789")] == '\0';
}

static ballast_status add_endpoint(struct options *options, const char *text, size_t bytes)
{
    char *endpoint = strndup(text, bytes);
    if (!endpoint)
        return BALLAST_NO_MEMORY;
    options->endpoints[options->endpoint_count++] = endpoint;
    return endpoint_plausible(endpoint) ? BALLAST_OK : BALLAST_INVALID;
}

static ballast_status split_endpoints(const char *list, struct options *options)
{
    size_t count = 1;
    for (const char *at = list; *at; at++)
        count += *at == ',';
    if (count > MOST_ENDPOINTS)
        return BALLAST_INVALID;
    options->endpoints = calloc(count, sizeof *options->endpoints);
    if (!options->endpoints)
        return BALLAST_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        list += strspn(list, " ");
        size_t bytes = strcspn(list, ",");
        size_t trimmed = bytes;
        while (trimmed > 0 && list[trimmed - 1] == ' ')
            trimmed--;
        ballast_status status = add_endpoint(options, list, trimmed);
        if (status != BALLAST_OK)
            return status;
        list += bytes + 1;
    }
    return BALLAST_OK;
}

static ballast_status copy_strings(const ballast_options *given, struct options *options)
{
    options->job = strdup(given->job ? given->job : "");
    if (!options->job)
        return BALLAST_NO_MEMORY;
    return split_endpoints(given->endpoints, options);
}

/* The options as this version knows them; false when no version of the header made them. */
static bool take_options(const ballast_options *given, ballast_options *ret_options)
{
    if (!given || given->version != VERSION)
        return false;
    if (given->size != SIZE_BEFORE_KEYS && given->size != SIZE_BEFORE_END &&
        given->size < sizeof *given)
        return false;
    *ret_options = (ballast_options){ .size = 0 };
    memcpy(ret_options, given, given->size < sizeof *given ? given->size : sizeof *given);
    return true;
}

/* A key as text or in a file; neither leaves it empty. */
static ballast_status read_key(const char *text, const char *file, enum wire_key_kind kind,
                               char ret_key[WIRE_KEY_BYTES])
{
    char why[WIRE_KEY_WHY_BYTES];
    if (text && file)
        return BALLAST_INVALID;
    if (file) {
        int failed = wire_key_file_read(file, kind, ret_key, why, sizeof why);
        return failed == EX_NOINPUT ? BALLAST_SYSTEM : failed ? BALLAST_INVALID : BALLAST_OK;
    }
    if (!text)
        return BALLAST_OK;
    if (!wire_key_valid(text, strnlen(text, WIRE_KEY_BYTES)))
        return BALLAST_INVALID;
    memcpy(ret_key, text, WIRE_KEY_BYTES);
    return BALLAST_OK;
}

static ballast_status read_keys(const ballast_options *given, struct options *options)
{
    ballast_status status =
        read_key(given->server_key, given->server_key_file, WIRE_KEY_PUBLIC, options->server_key);
    if (status == BALLAST_OK)
        status = read_key(given->secret_key, given->secret_key_file, WIRE_KEY_SECRET,
                          options->secret_key);
    if (status != BALLAST_OK)
        return status;
    options->curve = options->server_key[0];
    if (options->curve != (options->secret_key[0] != '\0'))
        return BALLAST_INVALID;
    if (!options->curve)
        return BALLAST_OK;
    if (!zmq_has("curve"))
        return BALLAST_SYSTEM;
    return zmq_curve_public(options->public_key, options->secret_key) ? BALLAST_INVALID
                                                                      : BALLAST_OK;
}

ballast_status options_read(const ballast_options *caller, struct options *ret_options)
{
    *ret_options = (struct options){ .endpoints = NULL };
    ballast_options whole, *given = &whole;
    if (!take_options(caller, given) || !in_range(given))
        return BALLAST_INVALID;
    *ret_options = (struct options){
        .dp_rank = given->dp_rank,
        .cp_rank = given->cp_rank,
        .pp_rank = given->pp_rank,
        .tp_rank = given->tp_rank,
        .first_step = given->first_step,
        .end_step = given->end_step ? given->end_step : UINT64_MAX,
        .prefetch = given->prefetch ? given->prefetch : DEFAULT_PREFETCH,
        .retry_ms = given->retry_ms ? given->retry_ms : DEFAULT_RETRY_MS,
        .digest_expected = given->expected_digest,
        .allocator = { .allocate = default_allocate, .release = default_release },
    };
    if (given->expected_digest)
        memcpy(ret_options->expected_digest, given->expected_digest, BALLAST_DIGEST_BYTES);
    if (given->allocator)
        ret_options->allocator = *given->allocator;
    ballast_status status = copy_strings(given, ret_options);
    if (status == BALLAST_OK)
        status = read_keys(given, ret_options);
    if (status != BALLAST_OK)
        options_fini(ret_options);
    return status;
}

void options_fini(struct options *options)
{
    for (size_t i = 0; i < options->endpoint_count; i++)
        free(options->endpoints[i]);
    free(options->endpoints);
    free(options->job);
    explicit_bzero(options, sizeof *options);
    *options = (struct options){ .endpoints = NULL };
}
