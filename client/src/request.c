#include "request.h"

#include "clock.h"

/*
 * Silence of all endpoints doubles the patience, up to this power: a frame may take longer than we
 * thought. That of one of several does not: the next gets no more time than it had.
 */
#define MOST_DOUBLINGS 5u

void request_start(struct request *request, uint64_t id, const struct question *question)
{
    *request = (struct request){ .state = REQUEST_DUE, .id = id, .question = *question };
}

void request_again(struct request *request, int64_t when_ns)
{
    request->state = REQUEST_DUE;
    request->when_ns = when_ns;
}

void request_sent(struct request *request, int64_t now_ns, uint32_t deadline_ms, size_t endpoints)
{
    int64_t deadline = deadline_ms * CLOCK_NS_PER_MS;
    size_t rounds = request->silences / endpoints;
    size_t doublings = rounds < MOST_DOUBLINGS ? rounds : MOST_DOUBLINGS;
    request->state = REQUEST_SENT;
    request->sent_before = true;
    request->deadline_ns = now_ns + deadline;
    /* The server has one deadline to answer in, the network another to bring the answer. */
    request->when_ns = request->deadline_ns + deadline * (INT64_C(1) << doublings);
}

void request_retry(struct request *request)
{
    problem_clear(&request->problem);
    request->corrupt = request->silences = request->rebuffs = request->timeouts = 0;
    request_again(request, 0);
}

void request_free(struct request *request)
{
    reply_close(&request->reply);
    request->state = REQUEST_FREE;
}
