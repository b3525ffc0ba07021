/* Sessions: bounded, forgotten when idle, replaced by a new incarnation. */
#include <criterion/criterion.h>
#include <string.h>

#include "serve/session.h"

#define MOST_OF_USER 2

static struct flights flights;

static struct sessions sessions;

static void open_sessions(size_t most)
{
    struct error err = { 0 };
    cr_assert_eq(sessions_init(&sessions, most, MOST_OF_USER, &flights, &err), 0, "%s", err.text);
}

static struct peer_id peer(unsigned number)
{
    struct peer_id id = { .size = 5 };
    memcpy(id.bytes + 1, &number, sizeof number);
    return id;
}

static struct session *hear(unsigned number, uint64_t now_ms)
{
    struct peer_id id = peer(number);
    return sessions_hear(&sessions, &id, "", now_ms);
}

Test(session, is_found_again)
{
    open_sessions(10);
    struct session *first = hear(1, 0);
    cr_assert_not_null(first);
    cr_assert_neq(hear(2, 1), first);
    cr_assert_eq(hear(1, 2), first);
    cr_assert_eq(first->seen_ms, 2);
    struct peer_id longer = peer(1);
    longer.size = 6;
    cr_assert_neq(sessions_hear(&sessions, &longer, "", 3), first);
    cr_assert_eq(sessions.table.count, 3);
    sessions_fini(&sessions);
}

Test(session, places_are_bounded_and_idle_ones_make_room)
{
    open_sessions(2);
    struct session *waiting = hear(1, 0);
    waiting->waiting = 1;
    cr_assert_not_null(hear(2, 10));
    cr_assert_null(hear(3, 20), "both are in use");
    uint64_t later = 10 + SESSION_ROOM_IDLE_MS;
    cr_assert_not_null(hear(3, later), "the second has been idle");
    cr_assert_eq(hear(1, later), waiting, "the first has a request and stays");
    cr_assert_eq(sessions.table.count, 2);
    waiting->waiting = 0;
    sessions_fini(&sessions);
}

static struct session *hear_of(const char *user, unsigned number, uint64_t now_ms)
{
    struct peer_id id = peer(number);
    return sessions_hear(&sessions, &id, user, now_ms);
}

Test(session, one_users_places_are_bounded_apart)
{
    open_sessions(10);
    struct session *first = hear_of("leaked", 1, 0);
    cr_assert_str_eq(first->user, "leaked");
    cr_assert_not_null(hear_of("leaked", 2, 1));
    cr_assert_null(hear_of("leaked", 3, 2));
    cr_assert_eq(hear_of("leaked", 1, 3), first, "who is there stays");
    cr_assert_not_null(hear_of("other", 4, 4));
    for (unsigned i = 5; i < 9; i++)
        cr_assert_not_null(hear(i, 5), "without keys there is no such bound");
    uint64_t later = 1 + SESSION_ROOM_IDLE_MS;
    cr_assert_not_null(hear_of("leaked", 3, later), "the second has been idle");
    cr_assert_eq(sessions.table.count, 7);
    cr_assert_not_null(hear_of("other", 4, later), "nobody else's had to go");
    sessions_fini(&sessions);
}

Test(session, is_forgotten_when_idle)
{
    open_sessions(10);
    hear(1, 0);
    hear(2, 5000);
    sessions_expire(&sessions, SESSION_IDLE_MS - 1);
    cr_assert_eq(sessions.table.count, 2);
    sessions_expire(&sessions, SESSION_IDLE_MS);
    cr_assert_eq(sessions.table.count, 1);
    sessions_expire(&sessions, SESSION_IDLE_MS + 5000);
    cr_assert_eq(sessions.table.count, 0);
    sessions_fini(&sessions);
}

static struct session *greeted(unsigned number, uint32_t dp, uint64_t incarnation)
{
    struct session *session = hear(number, 0);
    session->greeted = true;
    session->dp = dp;
    session->incarnation = incarnation;
    return session;
}

Test(session, a_new_incarnation_replaces_the_old)
{
    open_sessions(10);
    greeted(1, 0, 100);
    greeted(2, 1, 100);
    greeted(3, 0, 100);
    struct session *busy = greeted(4, 0, 99);
    busy->waiting = 1;
    sessions_replace(&sessions, greeted(5, 0, 101));
    cr_assert_eq(sessions.table.count, 3, "the other rank, the busy one and the new one stay");
    cr_assert(busy->superseded);
    busy->waiting = 0;
    sessions_fini(&sessions);
}

Test(session, the_same_incarnation_speaks_through_its_latest)
{
    open_sessions(10);
    struct session *before = greeted(1, 0, 100), *other = greeted(2, 1, 100);
    struct session *now = greeted(3, 0, 100);
    sessions_replace(&sessions, now);
    cr_assert(before->superseded);
    cr_assert_not(other->superseded);
    cr_assert_not(now->superseded);
    sessions_fini(&sessions);
}

Test(session, who_asks_again_for_what_it_consumed_has_gone_back)
{
    open_sessions(10);
    struct session *session = greeted(1, 0, 100);
    session->sent = sent_steps_begin(5);
    sent_steps_add(&session->sent, 5);
    sent_steps_add(&session->sent, 6);
    cr_assert_not(session_note_request(session, 5), "its answer may be lost");
    cr_assert(sent_steps_has(&session->sent, 6));
    session->has_acked = true;
    session->acked_step = 5;
    cr_assert_not(session_note_request(session, 6));
    cr_assert(session_note_request(session, 5));
    cr_assert_not(sent_steps_has(&session->sent, 5));
    cr_assert(sent_steps_has(&session->sent, 6), "it may only look back");
    cr_assert_not(session_note_request(session, 6));
    cr_assert_not(sent_steps_has(&session->sent, 6));
    cr_assert_eq(session->acked_step, 4);
    cr_assert(session_note_request(session, 0));
    cr_assert_not(session->has_acked);
    cr_assert_not(sent_steps_has(&session->sent, 0));
    sessions_fini(&sessions);
}

Test(session, what_was_fetched_ahead_of_a_change_is_void)
{
    open_sessions(10);
    struct session *ahead = greeted(1, 0, 100), *past = greeted(2, 1, 100);
    sent_steps_add(&ahead->sent, 8);
    sent_steps_add(&past->sent, 7);
    sent_steps_add(&past->sent, 8);
    sessions_void(&sessions, 7);
    cr_assert_not(sent_steps_has(&ahead->sent, 8));
    cr_assert(sent_steps_has(&past->sent, 8), "it may have used both");
    sessions_fini(&sessions);
}

Test(session, a_bad_step_is_waited_for_until_it_is_sent_or_planned_anew)
{
    open_sessions(10);
    struct session *sent = greeted(1, 0, 100), *earlier = greeted(2, 1, 100);
    sent->stuck = earlier->stuck = true;
    sent->stuck_step = 7;
    earlier->stuck_step = 6;
    session_note_sent(sent, 8);
    cr_assert(sent->stuck, "fetched ahead");
    session_note_sent(sent, 7);
    cr_assert_not(sent->stuck);
    cr_assert(sent_steps_has(&sent->sent, 7) && sent_steps_has(&sent->sent, 8));
    sessions_void(&sessions, 7);
    cr_assert(earlier->stuck);
    sessions_void(&sessions, 6);
    cr_assert_not(earlier->stuck);
    sessions_fini(&sessions);
}

Test(session, a_rank_is_not_forgotten_while_a_step_is_bad)
{
    open_sessions(2);
    greeted(1, 0, 100);
    greeted(2, 1, 100)->superseded = true;
    sessions.keep_ranks = true;
    sessions_expire(&sessions, SESSION_IDLE_MS + 1000);
    cr_assert_eq(sessions.table.count, 1, "the one that has come back as another goes");
    sessions.keep_ranks = false;
    sessions_expire(&sessions, SESSION_IDLE_MS + 1000);
    cr_assert_eq(sessions.table.count, 0);
    sessions_fini(&sessions);
}

Test(session, the_front_is_the_furthest_of_those_heard_of_lately)
{
    open_sessions(10);
    uint64_t front = 77;
    cr_assert_not(sessions_front(&sessions, 0, 1000, &front));
    const uint64_t steps[] = { 500, 40, 42 };
    for (unsigned i = 0; i < 3; i++) {
        struct session *session = hear(i, i * 1000);
        session->has_answered = true;
        session->answered_step = steps[i];
    }
    cr_assert(sessions_front(&sessions, 2000, 1000, &front));
    cr_assert_eq(front, 42);
    cr_assert(sessions_front(&sessions, 2000, 2000, &front));
    cr_assert_eq(front, 500);
    sessions_fini(&sessions);
}

Test(session, consumed_is_what_every_greeted_rank_has_acknowledged)
{
    open_sessions(10);
    uint64_t step = 77;
    hear(9, 0);
    cr_assert_not(sessions_consumed(&sessions, &step));
    struct session *a = greeted(1, 0, 1), *b = greeted(2, 1, 1);
    a->has_acked = true;
    a->acked_step = 12;
    cr_assert_not(sessions_consumed(&sessions, &step), "one has not acknowledged anything");
    b->has_acked = true;
    b->acked_step = 7;
    cr_assert(sessions_consumed(&sessions, &step));
    cr_assert_eq(step, 7);
    sessions_fini(&sessions);
}
