#include "serve/planner_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void planner_report_free(struct planner_report *report)
{
    if (!report)
        return;
    free(report->places);
    free(report->cursors);
    free(report);
}

/* The entry of that name, made when it is missing. Places are few: policies have a queue or two. */
static struct waiting_place *place_of(struct planner_report *report, const char *name)
{
    for (size_t i = 0; i < report->place_count; i++)
        if (strcmp(report->places[i].name, name) == 0)
            return &report->places[i];
    if (!grow(report->places, &report->place_capacity, report->place_count + 1))
        return NULL;
    struct waiting_place *place = &report->places[report->place_count++];
    *place = (struct waiting_place){ .oldest = UINT64_MAX };
    snprintf(place->name, sizeof place->name, "%s", name);
    return place;
}

static bool count_piece(struct planner_report *report, const char *name, const struct piece *piece)
{
    struct waiting_place *place = place_of(report, name);
    if (!place)
        return false;
    place->pieces++;
    place->tokens += piece->length;
    if (piece->arrived < place->oldest)
        place->oldest = piece->arrived;
    return true;
}

static bool count_backlog(struct planner_report *report, const struct planner *planner)
{
    size_t count;
    const struct piece *pieces = planner_backlog(planner, &count);
    bool done = true;
    for (size_t i = 0; i < count && done; i++)
        done = count_piece(report, "taken over from the former layout", &pieces[i]);
    return done;
}

static bool count_waiting(struct planner_report *report, const struct planner *planner)
{
    const void *state;
    char name[sizeof report->places->name];
    const struct pack_policy *policy = planner_policy(planner, &state);
    size_t count = policy->waiting(state, NULL, 0);
    if (count == 0)
        return true;
    struct waiting_piece *pieces = calloc(count, sizeof *pieces);
    if (!pieces)
        return false;
    policy->waiting(state, pieces, count);
    bool done = true;
    for (size_t i = 0; i < count && done; i++) {
        policy->place_name(state, pieces[i].place, name, sizeof name);
        done = count_piece(report, name, &pieces[i].piece);
    }
    free(pieces);
    return done;
}

struct planner_report *planner_report_new(const struct planner *planner, size_t source_count)
{
    struct planner_report *report = calloc(1, sizeof *report);
    if (!report)
        return NULL;
    report->step = planner_next_step(planner);
    report->cursors = calloc(source_count, sizeof *report->cursors);
    if (!report->cursors || !count_waiting(report, planner) || !count_backlog(report, planner)) {
        planner_report_free(report);
        return NULL;
    }
    report->cursor_count = source_count;
    memcpy(report->cursors, planner_cursors(planner), source_count * sizeof *report->cursors);
    return report;
}
