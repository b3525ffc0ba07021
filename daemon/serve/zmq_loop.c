#include "serve/zmq_loop.h"

#include <zmq.h>

static bool readable(const struct zmq_loop *self)
{
    int events = 0;
    size_t bytes = sizeof events;
    if (zmq_getsockopt(self->socket, ZMQ_EVENTS, &events, &bytes) != 0)
        return false;
    return events & ZMQ_POLLIN;
}

/* Waking the loop up was all the descriptor had to do. */
static void on_poll(uv_poll_t *handle, int status, int events)
{
    (void)handle;
    (void)status;
    (void)events;
}

static void on_idle(uv_idle_t *handle)
{
    (void)handle;
}

static void on_prepare(uv_prepare_t *handle)
{
    struct zmq_loop *self = handle->data;
    if (readable(self))
        uv_idle_start(&self->idle, on_idle);
}

static void on_check(uv_check_t *handle)
{
    struct zmq_loop *self = handle->data;
    uv_idle_stop(&self->idle);
    if (readable(self))
        self->ready(self);
}

int zmq_loop_open(struct zmq_loop *self, uv_loop_t *loop, void *socket, zmq_loop_ready *ready,
                  void *context, struct error *err)
{
    uv_os_sock_t descriptor;
    size_t bytes = sizeof descriptor;
    if (zmq_getsockopt(socket, ZMQ_FD, &descriptor, &bytes) != 0)
        return error_set(err, EX_OSERR, "ZeroMQ gives no descriptor to poll: %s",
                         zmq_strerror(zmq_errno()));
    *self = (struct zmq_loop){ .socket = socket, .ready = ready, .context = context };
    int failed = uv_poll_init_socket(loop, &self->poll, descriptor);
    if (failed)
        return error_set(err, EX_OSERR, "cannot poll a ZeroMQ socket: %s", uv_strerror(failed));
    uv_prepare_init(loop, &self->prepare);
    uv_check_init(loop, &self->check);
    uv_idle_init(loop, &self->idle);
    self->poll.data = self->prepare.data = self->check.data = self->idle.data = self;
    self->open_handles = 4;
    uv_poll_start(&self->poll, UV_READABLE, on_poll);
    uv_prepare_start(&self->prepare, on_prepare);
    uv_check_start(&self->check, on_check);
    return 0;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct zmq_loop *self = handle->data;
    if (--self->open_handles == 0 && self->closed)
        self->closed(self);
}

void zmq_loop_close(struct zmq_loop *self, zmq_loop_closed *closed)
{
    self->closed = closed;
    uv_close((uv_handle_t *)&self->poll, on_handle_closed);
    uv_close((uv_handle_t *)&self->prepare, on_handle_closed);
    uv_close((uv_handle_t *)&self->check, on_handle_closed);
    uv_close((uv_handle_t *)&self->idle, on_handle_closed);
}
