#include "serve/gather.h"

#include <pthread.h>
#include <stdlib.h>

struct gather {
    const struct corpus *corpus;
    gather_notify *notify;
    void *context;
    unsigned ahead;  /* loop thread only */
    unsigned queued; /* loop thread only: jobs submitted on demand and not taken back */
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct list wanted, speculative, done; /* under the lock, as is `stop` */
    bool stop;
    unsigned thread_count;
    pthread_t threads[];
};

void gather_job_free(struct gather_job *job)
{
    if (!job)
        return;
    shared_plan_unref(job->plan);
    payload_unref(job->payload);
    free(job);
}

/* The next job, or NULL when the pool stops. */
static struct gather_job *next_job(struct gather *gather)
{
    pthread_mutex_lock(&gather->lock);
    while (!gather->stop && list_empty(&gather->wanted) && list_empty(&gather->speculative))
        pthread_cond_wait(&gather->work, &gather->lock);
    struct gather_job *job = NULL;
    if (!gather->stop) {
        struct list *queue = list_empty(&gather->wanted) ? &gather->speculative : &gather->wanted;
        job = list_entry(queue->next, struct gather_job, link);
        list_remove(&job->link);
    }
    pthread_mutex_unlock(&gather->lock);
    return job;
}

static void *run(void *argument)
{
    struct gather *gather = argument;
    struct gather_job *job;
    while ((job = next_job(gather))) {
        payload_gather(gather->corpus, &job->plan->plan, job->key.microbatch, job->key.rank,
                       &job->payload, &job->bad, &job->error);
        pthread_mutex_lock(&gather->lock);
        list_push_back(&gather->done, &job->link);
        pthread_mutex_unlock(&gather->lock);
        gather->notify(gather->context);
    }
    return NULL;
}

int gather_new(const struct corpus *corpus, unsigned threads, gather_notify *notify, void *context,
               struct gather **ret_gather, struct error *err)
{
    struct gather *gather = calloc(1, sizeof *gather + threads * sizeof *gather->threads);
    if (!gather)
        return error_memory(err, "starting the gather workers");
    gather->corpus = corpus;
    gather->notify = notify;
    gather->context = context;
    pthread_mutex_init(&gather->lock, NULL);
    pthread_cond_init(&gather->work, NULL);
    list_init(&gather->wanted);
    list_init(&gather->speculative);
    list_init(&gather->done);
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&gather->threads[i], NULL, run, gather) != 0) {
            gather_free(gather);
            return error_set(err, EX_OSERR, "cannot start gather worker %u of %u", i + 1, threads);
        }
        gather->thread_count++;
    }
    *ret_gather = gather;
    return 0;
}

bool gather_submit(struct gather *gather, struct shared_plan *plan, struct payload_key key,
                   bool ahead)
{
    unsigned *counter = ahead ? &gather->ahead : &gather->queued;
    if (*counter >= GATHER_QUEUE)
        return false;
    struct gather_job *job = calloc(1, sizeof *job);
    if (!job)
        return false;
    job->plan = shared_plan_ref(plan);
    job->key = key;
    job->ahead = ahead;
    ++*counter;
    pthread_mutex_lock(&gather->lock);
    list_push_back(ahead ? &gather->speculative : &gather->wanted, &job->link);
    pthread_cond_signal(&gather->work);
    pthread_mutex_unlock(&gather->lock);
    return true;
}

unsigned gather_ahead(const struct gather *gather)
{
    return gather->ahead;
}

struct gather_job *gather_take(struct gather *gather)
{
    struct gather_job *job = NULL;
    pthread_mutex_lock(&gather->lock);
    if (!list_empty(&gather->done)) {
        job = list_entry(gather->done.next, struct gather_job, link);
        list_remove(&job->link);
    }
    pthread_mutex_unlock(&gather->lock);
    if (job)
        --*(job->ahead ? &gather->ahead : &gather->queued);
    return job;
}

static void drop_all(struct list *jobs)
{
    struct list *at = jobs->next;
    while (at != jobs) {
        struct gather_job *job = list_entry(at, struct gather_job, link);
        at = at->next;
        gather_job_free(job);
    }
}

void gather_free(struct gather *gather)
{
    if (!gather)
        return;
    pthread_mutex_lock(&gather->lock);
    gather->stop = true;
    pthread_cond_broadcast(&gather->work);
    pthread_mutex_unlock(&gather->lock);
    for (unsigned i = 0; i < gather->thread_count; i++)
        pthread_join(gather->threads[i], NULL);
    drop_all(&gather->wanted);
    drop_all(&gather->speculative);
    drop_all(&gather->done);
    pthread_cond_destroy(&gather->work);
    pthread_mutex_destroy(&gather->lock);
    free(gather);
}
