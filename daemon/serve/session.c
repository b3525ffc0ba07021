#include "serve/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int sessions_init(struct sessions *sessions, size_t most, size_t most_of_user,
                  struct flights *flights, struct error *err)
{
    *sessions = (struct sessions){ .most = most, .most_of_user = most_of_user, .flights = flights };
    list_init(&sessions->used);
    return hash_table_init(&sessions->table, most, err);
}

static void forget(struct sessions *sessions, struct session *session)
{
    hash_table_remove(&sessions->table, &session->by_peer);
    list_remove(&session->used);
    flight_unref(session->flight);
    free(session);
}

void sessions_fini(struct sessions *sessions)
{
    if (!sessions->table.buckets)
        return;
    while (!list_empty(&sessions->used))
        forget(sessions, list_entry(sessions->used.next, struct session, used));
    hash_table_fini(&sessions->table);
}

static bool same_peer(const struct peer_id *a, const struct peer_id *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static uint64_t hash_of(const struct peer_id *peer)
{
    return XXH3_64bits(peer->bytes, peer->size);
}

static struct session *find(const struct sessions *sessions, const struct peer_id *peer)
{
    struct hash_link *link = hash_table_find(&sessions->table, hash_of(peer));
    for (; link; link = hash_table_same(link)) {
        struct session *session = list_entry(link, struct session, by_peer);
        if (same_peer(&session->peer, peer))
            return session;
    }
    return NULL;
}

/* May it go, if nothing has been heard of it for `idle_ms`? */
static bool is_idle(const struct sessions *sessions, const struct session *session, uint64_t now_ms,
                    uint64_t idle_ms)
{
    bool kept = sessions->keep_ranks && session->greeted && !session->superseded;
    return !kept && session->waiting == 0 && now_ms - session->seen_ms >= idle_ms;
}

/*
 * With all places taken, the one unheard of for longest may go, if nothing waits for it. `user`
 * NULL: places of all; else only that user's count, and only they may go.
 */
static bool make_room(struct sessions *sessions, size_t most, const char *user, uint64_t now_ms)
{
    size_t count = 0;
    struct session *idle = NULL;
    for (struct list *at = sessions->used.next; at != &sessions->used; at = at->next) {
        struct session *session = list_entry(at, struct session, used);
        if (user && strcmp(session->user, user) != 0)
            continue;
        count++;
        if (!idle && is_idle(sessions, session, now_ms, SESSION_ROOM_IDLE_MS))
            idle = session;
    }
    if (count < most)
        return true;
    if (idle)
        forget(sessions, idle);
    return idle != NULL;
}

static bool has_room(struct sessions *sessions, const char *user, uint64_t now_ms)
{
    if (*user && sessions->most_of_user &&
        !make_room(sessions, sessions->most_of_user, user, now_ms))
        return false;
    return sessions->table.count < sessions->most ||
           make_room(sessions, sessions->most, NULL, now_ms);
}

static struct session *add(struct sessions *sessions, const struct peer_id *peer, const char *user)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->flight = flight_new(sessions->flights);
    if (!session->flight) {
        free(session);
        return NULL;
    }
    session->peer = *peer;
    snprintf(session->user, sizeof session->user, "%s", user);
    list_init(&session->requests);
    list_init(&session->used);
    hash_table_add(&sessions->table, &session->by_peer, hash_of(peer));
    return session;
}

struct session *sessions_hear(struct sessions *sessions, const struct peer_id *peer,
                              const char *user, uint64_t now_ms)
{
    struct session *session = find(sessions, peer);
    if (!session && has_room(sessions, user, now_ms))
        session = add(sessions, peer, user);
    if (!session)
        return NULL;
    session->seen_ms = now_ms;
    list_remove(&session->used);
    list_push_back(&sessions->used, &session->used);
    return session;
}

static bool same_rank(const struct session *a, const struct session *b)
{
    return a->greeted && b->greeted && a->dp == b->dp && a->cp == b->cp && a->pp == b->pp &&
           a->tp == b->tp;
}

void sessions_replace(struct sessions *sessions, const struct session *session)
{
    struct list *at = sessions->used.next;
    while (at != &sessions->used) {
        struct session *other = list_entry(at, struct session, used);
        at = at->next;
        if (other == session || !same_rank(other, session))
            continue;
        other->superseded = true;
        if (other->incarnation != session->incarnation && other->waiting == 0)
            forget(sessions, other);
    }
}

bool session_note_request(struct session *session, uint64_t step)
{
    bool consumed = session->has_acked && step <= session->acked_step;
    if (!consumed && step >= session->sent.below) {
        sent_steps_ask(&session->sent, step);
        return false;
    }
    sent_steps_back(&session->sent, step);
    session->has_acked = session->has_acked && step > 0;
    session->acked_step = step > 0 ? step - 1 : 0;
    return true;
}

void session_note_sent(struct session *session, uint64_t step)
{
    sent_steps_add(&session->sent, step);
    if (session->stuck_step == step)
        session->stuck = false;
}

void sessions_void(struct sessions *sessions, uint64_t step)
{
    for (struct list *at = sessions->used.next; at != &sessions->used; at = at->next) {
        struct session *session = list_entry(at, struct session, used);
        if (!sent_steps_has(&session->sent, step))
            sent_steps_cut(&session->sent, step);
        if (session->stuck_step >= step)
            session->stuck = false;
    }
}

void sessions_expire(struct sessions *sessions, uint64_t now_ms)
{
    struct list *at = sessions->used.next;
    while (at != &sessions->used) {
        struct session *session = list_entry(at, struct session, used);
        at = at->next;
        if (now_ms - session->seen_ms < SESSION_IDLE_MS)
            return;
        if (is_idle(sessions, session, now_ms, SESSION_IDLE_MS))
            forget(sessions, session);
    }
}

bool sessions_front(const struct sessions *sessions, uint64_t now_ms, uint64_t recent_ms,
                    uint64_t *ret_step)
{
    bool found = false;
    for (struct list *at = sessions->used.previous; at != &sessions->used; at = at->previous) {
        const struct session *session = list_entry(at, struct session, used);
        if (now_ms - session->seen_ms > recent_ms)
            break;
        if (!session->has_answered || (found && session->answered_step <= *ret_step))
            continue;
        *ret_step = session->answered_step;
        found = true;
    }
    return found;
}

bool sessions_consumed(const struct sessions *sessions, uint64_t *ret_step)
{
    uint64_t least = UINT64_MAX;
    bool found = false;
    for (struct list *at = sessions->used.next; at != &sessions->used; at = at->next) {
        const struct session *session = list_entry(at, struct session, used);
        if (!session->greeted)
            continue;
        if (!session->has_acked)
            return false;
        found = true;
        if (session->acked_step < least)
            least = session->acked_step;
    }
    if (found)
        *ret_step = least;
    return found;
}
