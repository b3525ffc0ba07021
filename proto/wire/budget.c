#include "wire/budget.h"

#include <stdlib.h>

/* What malloc itself spends on a block: many tiny blocks are the usual attack. */
#define BLOCK_OVERHEAD_BYTES 16u

static void *budget_alloc(void *context, size_t bytes)
{
    struct wire_budget *budget = context;
    if (bytes > budget->left || budget->left - bytes < BLOCK_OVERHEAD_BYTES) {
        budget->exhausted = true;
        return NULL;
    }
    void *memory = malloc(bytes);
    if (memory)
        budget->left -= bytes + BLOCK_OVERHEAD_BYTES;
    else
        budget->starved = true;
    return memory;
}

static void budget_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

ProtobufCAllocator wire_budget_allocator(struct wire_budget *budget)
{
    return (
        ProtobufCAllocator){ .alloc = budget_alloc, .free = budget_free, .allocator_data = budget };
}
