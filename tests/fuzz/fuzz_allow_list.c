/*
 * A list of client keys of any bytes. What is accepted is sorted, found again by every key and
 * consists of what the format allows; what is refused gives one line.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "serve/allow_list.h"

static void expect_one_line(const struct error *err)
{
    if (err->code != EX_CONFIG || err->text[0] == '\0' || strpbrk(err->text, "\r\n\x1b"))
        abort();
}

static void expect_client(const struct allow_list *list, size_t index)
{
    const struct allowed_client *client = &list->clients[index];
    if (!wire_key_valid(client->key, strlen(client->key)) ||
        allow_list_find(list, client->key) != client)
        abort();
    if (client->role != ROLE_TRAINER && client->role != ROLE_OPERATOR)
        abort();
    if (client->name[0] == '\0' || strpbrk(client->name, " \t\r\n\x1b") ||
        strlen(client->name) >= sizeof client->name || client->last_second < 0)
        abort();
    if (index > 0 && strcmp(client[-1].key, client->key) >= 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct allow_list list = { 0 };
    struct error err = { 0 };
    if (allow_list_parse("clients", (const char *)bytes, count, &list, &err)) {
        expect_one_line(&err);
        return 0;
    }
    if (list.count == 0)
        abort();
    for (size_t i = 0; i < list.count; i++)
        expect_client(&list, i);
    allow_list_fini(&list);
    return 0;
}
