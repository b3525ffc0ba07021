/* A doubly linked list whose links lie inside its items. One thread at a time. */
#ifndef BALLAST_SERVE_LIST_H
#define BALLAST_SERVE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* The head of a list, or the link of an item. */
struct list {
    struct list *next, *previous;
};

#define list_entry(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

/* An empty list; or a link that is in no list, which may be removed without harm. */
static inline void list_init(struct list *link)
{
    link->next = link->previous = link;
}

static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

static inline void list_push_back(struct list *head, struct list *link)
{
    link->previous = head->previous;
    link->next = head;
    head->previous->next = link;
    head->previous = link;
}

static inline void list_remove(struct list *link)
{
    /* The analyser takes the neighbour of a removed and freed link for that link itself. */
    link->previous->next = link->next; /* NOLINT(clang-analyzer-unix.Malloc) */
    link->next->previous = link->previous;
    list_init(link);
}

#endif
