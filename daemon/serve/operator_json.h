/* What operators are shown, as JSON (ballastctl prints it). Thread: the loop's. */
#ifndef BALLAST_SERVE_OPERATOR_JSON_H
#define BALLAST_SERVE_OPERATOR_JSON_H

#include "serve/planner_report.h"
#include "serve/state.h"

/* Each returns text to be freed, or NULL when out of memory. */
char *operator_json_status(const struct server *server);
char *operator_json_ranks(const struct server *server);
char *operator_json_queues(const struct server *server, const struct planner_report *report);
char *operator_json_change(const struct planner_change *change);
char *operator_json_snapshot(const struct server *server, const struct snapshots_answer *answer);
char *operator_json_sources(const struct server *server, const struct planner_report *report);

#endif
