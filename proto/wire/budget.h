/*
 * A counting allocator for protobuf-c, whose memory use is a large multiple of what it reads
 * (an unknown field of two bytes costs about a hundred). One budget serves one unpack on one
 * thread.
 */
#ifndef BALLAST_WIRE_BUDGET_H
#define BALLAST_WIRE_BUDGET_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

struct wire_budget {
    size_t left;    /* bytes that may still be allocated; freeing gives nothing back */
    bool exhausted; /* an allocation was refused */
    bool starved;   /* the system had no memory */
};

/*
 * The allocator that draws on `budget`, which must outlive it. Memory comes from malloc, so what
 * survives the unpack is freed with protobuf-c's own allocator, after the budget is gone.
 */
ProtobufCAllocator wire_budget_allocator(struct wire_budget *budget);

#endif
