/* Endpoints: who may bind, what is left behind, what is never touched. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "serve/endpoint.h"
#include "support/temp_dir.h"

static const struct endpoint_limits limits = { 4096, 16 };

struct place {
    struct temp_dir dir;
    char path[TEMP_PATH_BYTES], address[TEMP_PATH_BYTES + 8];
    void *context;
};

static struct place place_make(void)
{
    struct place place = { .dir = temp_dir_make(), .context = zmq_ctx_new() };
    temp_path(&place.dir, "s", place.path);
    snprintf(place.address, sizeof place.address, "ipc://%s", place.path);
    return place;
}

static void place_remove(struct place *place)
{
    zmq_ctx_term(place->context);
    temp_dir_remove(&place->dir);
}

static struct endpoint open_one(struct place *place)
{
    struct endpoint endpoint;
    struct error err = { 0 };
    cr_assert_eq(endpoint_lock(place->address, &endpoint, &err), 0, "%s", err.text);
    cr_assert_eq(endpoint_bind(&endpoint, place->context, &limits, &err), 0, "%s", err.text);
    return endpoint;
}

Test(endpoint, an_ipc_socket_is_its_owners_alone_and_leaves_nothing)
{
    umask(0022);
    struct place place = place_make();
    struct endpoint endpoint = open_one(&place);
    struct stat facts;
    cr_assert_eq(stat(place.path, &facts), 0);
    cr_assert(S_ISSOCK(facts.st_mode));
    cr_assert_eq(facts.st_mode & 0777, 0600);
    endpoint_close(&endpoint, 0);
    umask(0007);
    endpoint = open_one(&place);
    cr_assert_eq(stat(place.path, &facts), 0);
    cr_assert_eq(facts.st_mode & 0777, 0660, "the umask lets the group in");
    endpoint_close(&endpoint, 0);
    zmq_ctx_term(place.context);
    place.context = zmq_ctx_new();
    cr_assert_neq(stat(place.path, &facts), 0, "the socket is left");
    cr_assert_eq(rmdir(place.dir.path), 0, "something is left");
    zmq_ctx_term(place.context);
}

Test(endpoint, a_second_daemon_is_refused)
{
    struct place place = place_make();
    struct endpoint first = open_one(&place), second = { 0 };
    struct error err = { 0 };
    cr_assert_eq(endpoint_lock(place.address, &second, &err), EX_UNAVAILABLE);
    cr_assert_not_null(strstr(err.text, place.path));
    cr_assert_null(second.address, "untouched on failure");
    endpoint_close(&first, 0);
    cr_assert_eq(endpoint_lock(place.address, &second, &err), 0);
    endpoint_close(&second, 0);
    place_remove(&place);
}

Test(endpoint, what_a_killed_daemon_left_is_no_obstacle)
{
    struct place place = place_make();
    zmq_ctx_term(place.context);
    pid_t child = fork();
    if (child == 0) {
        place.context = zmq_ctx_new();
        open_one(&place);
        _exit(0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    struct stat facts;
    cr_assert_eq(stat(place.path, &facts), 0, "the child should have left its socket");
    place.context = zmq_ctx_new();
    struct endpoint endpoint = open_one(&place);
    endpoint_close(&endpoint, 0);
    place_remove(&place);
}

Test(endpoint, a_file_that_is_no_socket_is_never_removed)
{
    struct place place = place_make();
    struct endpoint endpoint;
    struct error err = { 0 };
    struct stat facts;
    file_write(place.path, "precious", 8);
    cr_assert_eq(endpoint_lock(place.address, &endpoint, &err), EX_CONFIG);
    cr_assert_eq(stat(place.path, &facts), 0);
    cr_assert_eq(facts.st_size, 8);
    place_remove(&place);
}

Test(endpoint, a_missing_directory_is_a_configuration_error)
{
    struct endpoint endpoint;
    struct error err = { 0 };
    cr_assert_eq(endpoint_lock("ipc:///nonexistent/ballast/s", &endpoint, &err), EX_CONFIG);
    cr_assert_not_null(strstr(err.text, "/nonexistent/ballast/s"));
}

static int bind_code(void *context, const char *address)
{
    struct endpoint endpoint;
    struct error err = { 0 };
    int failed = endpoint_lock(address, &endpoint, &err);
    cr_assert_eq(failed, 0, "%s", err.text);
    failed = endpoint_bind(&endpoint, context, &limits, &err);
    endpoint_close(&endpoint, 0);
    return failed;
}

Test(endpoint, addresses_that_cannot_be_bound)
{
    void *context = zmq_ctx_new();
    void *other = zmq_socket(context, ZMQ_ROUTER);
    char taken[256];
    size_t bytes = sizeof taken;
    cr_assert_eq(zmq_bind(other, "tcp://127.0.0.1:*"), 0);
    zmq_getsockopt(other, ZMQ_LAST_ENDPOINT, taken, &bytes);
    cr_assert_eq(bind_code(context, taken), EX_UNAVAILABLE);
    cr_assert_eq(bind_code(context, "nonsense"), EX_CONFIG);
    cr_assert_eq(bind_code(context, "http://127.0.0.1:1"), EX_CONFIG);
    cr_assert_eq(bind_code(context, "tcp://127.0.0.1:port"), EX_CONFIG);
    cr_assert_eq(bind_code(context, "tcp://192.0.2.1:5755"), EX_UNAVAILABLE, "not ours");
    cr_assert_eq(bind_code(context, "tcp://127.0.0.1:*"), 0);
    cr_assert_eq(bind_code(context, "tcp://[::1]:*"), 0);
    zmq_close(other);
    zmq_ctx_term(context);
}
