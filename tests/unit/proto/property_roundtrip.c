/* Any valid message comes back as it was, and encodes to the same bytes again. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/limits.h"

static uint64_t state;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Small, large and extreme numbers alike. */
static uint64_t draw_number(void)
{
    return draw() >> draw() % 64;
}

static uint32_t draw_number32(void)
{
    return (uint32_t)(draw() >> (32 + draw() % 32));
}

/* Up to `bytes` printable bytes into `text`, which has room for one more. */
static char *draw_text(char *text, size_t bytes)
{
    size_t count = draw() % (bytes + 1);
    for (size_t i = 0; i < count; i++)
        text[i] = (char)(' ' + draw() % 95);
    text[count] = 0;
    return text;
}

/* What a message drawn at random points into. */
struct room {
    char job[64], client[256], why[1024], names[32][64];
    char *sources[32];
    unsigned char digest[WIRE_DIGEST_BYTES];
    uint32_t totals[WIRE_MAX_CP_RANKS + 1];
    Ballast__V1__Rank rank;
    union {
        ProtobufCMessage base;
        Ballast__V1__Hello hello;
        Ballast__V1__HelloReply reply;
        Ballast__V1__GetBatch get;
        Ballast__V1__Batch batch;
        Ballast__V1__Ack ack;
        Ballast__V1__Admin admin;
    } message;
};

static void draw_rank(struct room *room)
{
    ballast__v1__rank__init(&room->rank);
    room->rank.dp = draw_number32();
    room->rank.cp = draw_number32();
    room->rank.pp = draw_number32();
    room->rank.tp = draw_number32();
}

static ProtobufCBinaryData draw_digest(struct room *room)
{
    for (size_t i = 0; i < sizeof room->digest; i++)
        room->digest[i] = (unsigned char)draw();
    return (ProtobufCBinaryData){ sizeof room->digest, room->digest };
}

static size_t draw_names(struct room *room, size_t bytes)
{
    size_t count = draw() % 17;
    for (size_t i = 0; i < count; i++)
        room->sources[i] = draw_text(room->names[i], bytes);
    return count;
}

static void draw_hello(struct room *room)
{
    Ballast__V1__Hello *hello = &room->message.hello;
    ballast__v1__hello__init(hello);
    draw_rank(room);
    hello->job = draw_text(room->job, WIRE_MAX_NAME_BYTES);
    hello->client = draw_text(room->client, WIRE_MAX_TEXT_BYTES);
    hello->rank = &room->rank;
    hello->incarnation = draw_number();
    hello->step = draw_number();
    hello->next_step = draw_number();
    hello->daemons = (uint32_t)draw_number();
}

static void draw_hello_reply(struct room *room)
{
    Ballast__V1__HelloReply *reply = &room->message.reply;
    ballast__v1__hello_reply__init(reply);
    reply->message = draw_text(room->why, WIRE_MAX_MESSAGE_BYTES);
    reply->job = reply->server = draw_text(room->job, WIRE_MAX_NAME_BYTES);
    reply->dp = 1 + draw_number32() % 65535;
    reply->microbatches = 1 + draw_number32() % 65535;
    reply->cp = 1 + draw_number32() % WIRE_MAX_CP_RANKS;
    reply->max_sequence_length = 1 + draw_number32() / 2;
    reply->context_window = 1 + draw_number32() % reply->max_sequence_length;
    reply->vocab_size = draw_number32() / 2;
    reply->token_bytes = reply->vocab_size >= 1 && reply->vocab_size <= 65536 ? 2 : 4;
    reply->seed = draw_number();
    reply->steps = draw_number();
    reply->job_digest = draw_digest(room);
    reply->sources = room->sources;
    reply->n_sources = draw_names(room, WIRE_MAX_NAME_BYTES);
}

static void draw_get_batch(struct room *room)
{
    Ballast__V1__GetBatch *get = &room->message.get;
    ballast__v1__get_batch__init(get);
    get->request = draw_number();
    get->step = draw_number();
    get->microbatch = draw_number32();
    get->cp_rank = draw_number32();
    get->parts = (uint32_t)(draw() % 8);
    get->deadline_ms = draw_number32() % (WIRE_MAX_DEADLINE_MS + 1);
    if (draw() % 2)
        get->job_digest = draw_digest(room);
}

static void draw_totals(struct room *room, Ballast__V1__Batch *batch)
{
    batch->n_rank_chunks = 2 + draw() % WIRE_MAX_CP_RANKS;
    batch->rank_chunks = room->totals;
    room->totals[0] = 0;
    for (size_t i = 1; i < batch->n_rank_chunks; i++)
        room->totals[i] = room->totals[i - 1] + (uint32_t)(draw() % 4000000);
    batch->cp_rank = (uint32_t)(draw() % (batch->n_rank_chunks - 1));
}

static void draw_batch(struct room *room)
{
    Ballast__V1__Batch *batch = &room->message.batch;
    ballast__v1__batch__init(batch);
    batch->message = draw_text(room->why, WIRE_MAX_MESSAGE_BYTES);
    batch->request = draw_number();
    batch->step = draw_number();
    batch->microbatch = draw_number32();
    batch->parts = (uint32_t)(draw() % 8);
    batch->digest = draw_digest(room);
    batch->sharding = draw_number32();
    batch->tokens = draw_number32() / 4;
    batch->padded_tokens = batch->tokens + draw_number32() / 4;
    batch->microbatch_tokens = batch->tokens + draw_number32() / 4;
    batch->microbatch_loss_tokens = batch->microbatch_tokens / 2;
    batch->step_tokens = batch->microbatch_tokens + draw_number() / 2;
    batch->step_loss_tokens = batch->step_tokens / 2;
    draw_totals(room, batch);
    batch->pieces_xxh3 = draw();
    batch->chunks_xxh3 = draw_number();
    batch->tokens_xxh3 = draw();
    batch->workload = draw_number();
}

static void draw_ack(struct room *room)
{
    ballast__v1__ack__init(&room->message.ack);
    draw_rank(room);
    room->message.ack.step = draw_number();
    room->message.ack.rank = &room->rank;
}

static void draw_admin(struct room *room)
{
    Ballast__V1__Admin *admin = &room->message.admin;
    ballast__v1__admin__init(admin);
    admin->command = draw_text(room->job, WIRE_MAX_NAME_BYTES - 1);
    strcat(admin->command, "x");
    admin->arguments = room->sources;
    admin->n_arguments = draw_names(room, WIRE_MAX_NAME_BYTES);
    if (admin->n_arguments > WIRE_MAX_ARGUMENTS)
        admin->n_arguments = WIRE_MAX_ARGUMENTS;
}

static void expect_round_trip(const ProtobufCMessage *message)
{
    size_t count = wire_encoded_bytes(message);
    unsigned char *frame = malloc(2 * count);
    cr_assert_not_null(frame);
    wire_encode(message, frame);
    struct wire_message decoded;
    const char *why = "";
    cr_assert_eq(wire_decode(frame, count, WIRE_MAX_REPLY_BYTES, &decoded, &why), WIRE_OK, "%s",
                 why);
    cr_assert_eq(decoded.base->descriptor, message->descriptor);
    cr_assert_eq(wire_encoded_bytes(decoded.base), count);
    wire_encode(decoded.base, frame + count);
    cr_assert_eq(memcmp(frame, frame + count, count), 0, "%s", message->descriptor->name);
    wire_message_free(&decoded);
    free(frame);
}

Test(roundtrip, property_any_valid_message_survives)
{
    static void (*const draws[])(struct room *) = { draw_hello, draw_hello_reply, draw_get_batch,
                                                    draw_batch, draw_ack,         draw_admin };
    static struct room room;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        state = seed * 0x9e3779b97f4a7c15u;
        draws[seed % (sizeof draws / sizeof *draws)](&room);
        expect_round_trip(&room.message.base);
    }
}
