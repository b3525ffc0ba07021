/* protobuf-c must clean up wherever an allocation fails: tried at every byte of the budget. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "wire/budget.h"

/* Counts what is outstanding around the allocator under test. */
struct counter {
    ProtobufCAllocator inner;
    size_t live, allocations;
};

static void *counted_alloc(void *context, size_t bytes)
{
    struct counter *counter = context;
    void *memory = counter->inner.alloc(counter->inner.allocator_data, bytes);
    counter->live += memory != NULL;
    counter->allocations++;
    return memory;
}

static void counted_free(void *context, void *memory)
{
    struct counter *counter = context;
    counter->live -= memory != NULL;
    counter->inner.free(counter->inner.allocator_data, memory);
}

/* Unpacks a packed sample with a budget; true when it sufficed. Nothing may stay allocated. */
static bool unpack_within(const struct sample *sample, const unsigned char *bytes, size_t count,
                          size_t budget_bytes)
{
    struct wire_budget budget = { .left = budget_bytes };
    struct counter counter = { .inner = wire_budget_allocator(&budget) };
    ProtobufCAllocator allocator = { counted_alloc, counted_free, &counter };
    ProtobufCMessage *message =
        protobuf_c_message_unpack(sample->message->descriptor, &allocator, count, bytes);
    cr_assert_eq(message == NULL, budget.exhausted, "%s", sample->name);
    protobuf_c_message_free_unpacked(message, &allocator);
    cr_assert_eq(counter.live, 0, "%s: %zu blocks left with %zu bytes", sample->name, counter.live,
                 budget_bytes);
    cr_assert_geq(counter.allocations, 1);
    return message != NULL;
}

Test(budget, every_sample_at_every_size)
{
    for (size_t i = 0; i < sample_count; i++) {
        size_t count = protobuf_c_message_get_packed_size(samples[i].message);
        unsigned char *bytes = malloc(count + 1);
        cr_assert_not_null(bytes);
        protobuf_c_message_pack(samples[i].message, bytes);
        size_t enough = 0;
        while (!unpack_within(&samples[i], bytes, count, enough))
            cr_assert_lt(++enough, 65536, "%s", samples[i].name);
        cr_expect_gt(enough, 0);
        free(bytes);
    }
}

Test(budget, unknown_fields_and_many_texts_at_every_size)
{
    /* Forty sources and forty unknown fields: past the members that protobuf-c keeps on its stack.
     */
    unsigned char bytes[400];
    size_t count = 0;
    for (unsigned i = 0; i < 40; i++) {
        static const unsigned char unit[] = { 0x7a, 0x02, 'a', 'b', 0xf8, 0x06, 0x01 };
        memcpy(bytes + count, unit, sizeof unit);
        count += sizeof unit;
    }
    const Ballast__V1__HelloReply reply = BALLAST__V1__HELLO_REPLY__INIT;
    const struct sample sample = { "many fields", WIRE_HELLO_REPLY, &reply.base };
    size_t enough = 0;
    while (!unpack_within(&sample, bytes, count, enough))
        cr_assert_lt(++enough, 65536);
    cr_expect_gt(enough, 4000);
}

Test(budget, small_blocks_cost_their_overhead)
{
    struct wire_budget budget = { .left = 100 };
    ProtobufCAllocator allocator = wire_budget_allocator(&budget);
    void *blocks[100];
    size_t taken = 0;
    while (taken < 100 && (blocks[taken] = allocator.alloc(allocator.allocator_data, 1)))
        taken++;
    cr_expect_eq(taken, 5, "17 bytes each: %zu", taken);
    cr_expect(budget.exhausted);
    while (taken > 0)
        allocator.free(allocator.allocator_data, blocks[--taken]);
}

Test(budget, a_size_that_would_overflow_is_refused)
{
    struct wire_budget budget = { .left = SIZE_MAX };
    ProtobufCAllocator allocator = wire_budget_allocator(&budget);
    cr_expect_null(allocator.alloc(allocator.allocator_data, SIZE_MAX));
    cr_expect(budget.exhausted);
}
