/*
 * JSON built of parts and written as text, whole or not at all. jansson leaves out what finds no
 * memory: a member that could not be set, bytes in the middle of a text. Here it is remembered.
 */
#ifndef BALLAST_BASE_JSON_TEXT_H
#define BALLAST_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

/* As json_object_set_new and json_array_append_new; a failure is told by the next json_text. */
void json_put(json_t *object, const char *key, json_t *value);
void json_push(json_t *array, json_t *value);

/*
 * Takes over `value`, which may be NULL where it could not be made. The text is the caller's to
 * free; NULL when anything of it is missing, since the last json_text of this thread.
 */
char *json_text(json_t *value, size_t flags);

#endif
