#include "rank_threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define MOST_RANKS 64
#define PATIENCE_S 30

struct rank_thread {
    pthread_t thread;
    rank_body *body;
    void *context;
    int rank;
};

static void *start(void *data)
{
    struct rank_thread *rank = data;
    rank->body(rank->rank, rank->context);
    return NULL;
}

void rank_threads_run(int ranks, rank_body *body, void *context)
{
    struct rank_thread threads[MOST_RANKS];
    for (int i = 0; i < ranks; i++) {
        threads[i] = (struct rank_thread){ .body = body, .context = context, .rank = i };
        if (i >= MOST_RANKS || pthread_create(&threads[i].thread, NULL, start, &threads[i]) != 0)
            abort();
    }
    for (int i = 0; i < ranks; i++)
        pthread_join(threads[i].thread, NULL);
}

bool rank_threads_await(bool (*holds)(void *context), void *context)
{
    time_t end = time(NULL) + PATIENCE_S;
    while (!holds(context)) {
        if (time(NULL) > end)
            return false;
        sched_yield();
    }
    return true;
}
