#include "await.h"

#include "clock.h"
#include "session.h"

/*
 * Nothing came in time. Where all that is known says that asking again soon is of little use, the
 * reason is a better answer than TIMEOUT.
 */
static ballast_status give_up(ballast_client *client, int timeout_ms)
{
    const struct session *session = &client->session;
    const struct problem *trouble = &session->trouble;
    ballast_status status = BALLAST_TIMEOUT;
    switch (trouble->status) {
    case BALLAST_BUSY:
    case BALLAST_DENIED:
    case BALLAST_DRAINING:
    case BALLAST_IO_ERROR:
    case BALLAST_SYSTEM:
        status = trouble->status;
        break;
    case BALLAST_CORRUPT:
        status = session->rounds ? BALLAST_CORRUPT : BALLAST_TIMEOUT;
        break;
    default:
        break;
    }
    if (trouble->status == BALLAST_OK)
        return problem_set(&client->last, status, "%s: no answer within %d ms",
                           session_endpoint(client), timeout_ms);
    return problem_set(&client->last, status, "nothing within %d ms: %s", timeout_ms,
                       trouble->text);
}

static void wait_a_little(ballast_client *client, int64_t until_ns)
{
    int64_t before_ns = clock_ns();
    session_wait(client, until_ns);
    client->counters.wait_ns += (uint64_t)(clock_ns() - before_ns);
}

ballast_status await(ballast_client *client, int timeout_ms, await_look *look, void *context)
{
    int64_t until_ns = clock_ns() + timeout_ms * CLOCK_NS_PER_MS;
    for (;;) {
        session_pump(client);
        if (client->session.state == SESSION_FAILED) {
            client->last = client->session.fatal;
            return client->last.status;
        }
        ballast_status status = look(client, context);
        if (status != BALLAST_TIMEOUT)
            return status;
        if (clock_ns() >= until_ns)
            return give_up(client, timeout_ms);
        wait_a_little(client, until_ns);
    }
}
