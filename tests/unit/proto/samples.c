#include "samples.h"

#include "wire/limits.h"

typedef Ballast__V1__Rank Rank;
typedef Ballast__V1__Hello Hello;
typedef Ballast__V1__HelloReply HelloReply;
typedef Ballast__V1__GetBatch GetBatch;
typedef Ballast__V1__Batch Batch;
typedef Ballast__V1__Ack Ack;
typedef Ballast__V1__Admin Admin;
typedef Ballast__V1__AdminReply AdminReply;
typedef Ballast__V1__Refusal Refusal;

#define BASE(message_descriptor) .base = PROTOBUF_C_MESSAGE_INIT(&message_descriptor)
#define GET_BATCH BASE(ballast__v1__get_batch__descriptor)
#define BATCH BASE(ballast__v1__batch__descriptor), .message = text_none

static char text_none[] = "";
static unsigned char rising[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static unsigned char late[] = { 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
                                0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff };

#define DIGEST_RISING                                                                              \
    {                                                                                              \
        WIRE_DIGEST_BYTES, rising                                                                  \
    }
#define DIGEST_LATE                                                                                \
    {                                                                                              \
        WIRE_DIGEST_BYTES, late                                                                    \
    }

static Rank rank = { BASE(ballast__v1__rank__descriptor), .dp = 1, .cp = 2, .pp = 3, .tp = 4 };
static Rank rank_zero = { BASE(ballast__v1__rank__descriptor) };

static char job_name[] = "llama-7b-128k", server_name[] = "ballastd 0.1.0", short_job[] = "j",
            short_server[] = "s", web[] = "web", code[] = "code", client_name[] = "node-3:4711";
static char *two_sources[] = { web, code }, *one_source[] = { short_server };

static const Hello hello = {
    BASE(ballast__v1__hello__descriptor), .job = job_name, .client = client_name, .rank = &rank,
    .incarnation = 0x0123456789abcdef,
};
static const Hello hello_again = {
    BASE(ballast__v1__hello__descriptor),
    .job = text_none,
    .client = text_none,
    .rank = &rank,
    .step = 300,
    .next_step = UINT64_MAX,
    .daemons = 3,
};
static const Hello hello_least = { BASE(ballast__v1__hello__descriptor), .job = text_none,
                                   .client = text_none, .rank = &rank_zero };

static const HelloReply hello_reply = {
    BASE(ballast__v1__hello_reply__descriptor),
    .message = text_none,
    .job = job_name,
    .server = server_name,
    .dp = 2,
    .cp = 4,
    .microbatches = 8,
    .context_window = 131072,
    .max_sequence_length = 196608,
    .vocab_size = 50257,
    .token_bytes = 2,
    .seed = 1234,
    .job_digest = DIGEST_RISING,
    .steps = 1000000000000,
    .n_sources = 2,
    .sources = two_sources,
};
static const HelloReply hello_reply_wide = {
    BASE(ballast__v1__hello_reply__descriptor),
    .message = text_none,
    .job = short_job,
    .server = short_server,
    .dp = 1,
    .cp = WIRE_MAX_CP_RANKS,
    .microbatches = 1,
    .context_window = 1,
    .max_sequence_length = UINT32_MAX,
    .vocab_size = WIRE_MAX_VOCABULARY,
    .token_bytes = 4,
    .seed = UINT64_MAX,
    .job_digest = DIGEST_LATE,
    .n_sources = 1,
    .sources = one_source,
};
static char wrong_job_why[] = "this daemon serves job llama-7b-128k, not gpt";
static const HelloReply hello_reply_wrong_job = {
    BASE(ballast__v1__hello_reply__descriptor),
    .status = WIRE_WRONG_JOB,
    .message = wrong_job_why,
    .job = job_name,
    .server = server_name,
};

static const GetBatch get_batch = {
    GET_BATCH,    .request = 7, .step = 300,         .microbatch = 5,
    .cp_rank = 1, .parts = 7,   .deadline_ms = 5000, .job_digest = DIGEST_RISING,
};
static const GetBatch get_batch_least = { GET_BATCH };
static const GetBatch get_batch_most = {
    GET_BATCH,
    .request = UINT64_MAX,
    .step = UINT64_MAX,
    .microbatch = UINT32_MAX,
    .cp_rank = UINT32_MAX,
    .parts = 7,
    .deadline_ms = WIRE_MAX_DEADLINE_MS,
    .job_digest = DIGEST_LATE,
};

static uint32_t rank_chunks[] = { 0, 3, 5 };
static const Batch batch = {
    BATCH,
    .request = 7,
    .step = 300,
    .microbatch = 5,
    .cp_rank = 0,
    .parts = 7,
    .digest = DIGEST_LATE,
    .sharding = 1,
    .tokens = 4,
    .padded_tokens = 4,
    .microbatch_tokens = 8,
    .microbatch_loss_tokens = 7,
    .step_tokens = 70000,
    .step_loss_tokens = 69000,
    .n_rank_chunks = 3,
    .rank_chunks = rank_chunks,
    .pieces_xxh3 = 0xe953491ebcb4c6a4,
    .chunks_xxh3 = 0x6bff5af402ef1d7a,
    .tokens_xxh3 = 0x2d3ff346978b23bd,
    .workload = 81,
};
static const Batch batch_header_only = {
    BATCH,
    .request = 8,
    .step = 300,
    .digest = DIGEST_LATE,
    .tokens = 4,
    .padded_tokens = 4,
    .microbatch_tokens = 8,
    .microbatch_loss_tokens = 7,
    .step_tokens = 70000,
    .step_loss_tokens = 69000,
};
static char end_why[] = "end of data: the job has 300 steps";
static const Batch batch_end = {
    BASE(ballast__v1__batch__descriptor),
    .status = WIRE_END,
    .message = end_why,
    .request = 9,
    .step = 300,
};
static char later_why[] = "a status of a later version";
static const Batch batch_later_status = {
    BASE(ballast__v1__batch__descriptor),
    .status = 77,
    .message = later_why,
    .request = 10,
    .step = 1,
};

static const Ack ack = { BASE(ballast__v1__ack__descriptor), .step = 299, .rank = &rank };
static const Ack ack_least = { BASE(ballast__v1__ack__descriptor), .rank = &rank_zero };

static char step_command[] = "step", step_argument[] = "300", status_command[] = "status";
static char *step_arguments[] = { step_argument };
static const Admin admin = {
    BASE(ballast__v1__admin__descriptor),
    .command = step_command,
    .n_arguments = 1,
    .arguments = step_arguments,
};
static const Admin admin_least = { BASE(ballast__v1__admin__descriptor),
                                   .command = status_command };

static const AdminReply admin_reply = { BASE(ballast__v1__admin_reply__descriptor),
                                        .message = text_none };
static char fly_why[] =
    "no command 'fly': status, queues, ranks, sources, step and drain are known";
static const AdminReply admin_reply_unknown_command = {
    BASE(ballast__v1__admin_reply__descriptor),
    .status = WIRE_UNKNOWN_COMMAND,
    .message = fly_why,
};

static char version_why[] = "protocol version 1 is spoken here";
static const Refusal refusal = { BASE(ballast__v1__refusal__descriptor), .status = WIRE_BAD_VERSION,
                                 .message = version_why };
static char wide_text[] = "Gr\u00fc\u00dfe, \u6570\u636e, \U0001f6a2";
static const Refusal refusal_text = { BASE(ballast__v1__refusal__descriptor),
                                      .status = WIRE_BAD_REQUEST, .message = wide_text };

const struct sample samples[] = {
    { "hello", WIRE_HELLO, &hello.base },
    { "hello_again", WIRE_HELLO, &hello_again.base },
    { "hello_least", WIRE_HELLO, &hello_least.base },
    { "hello_reply", WIRE_HELLO_REPLY, &hello_reply.base },
    { "hello_reply_wide", WIRE_HELLO_REPLY, &hello_reply_wide.base },
    { "hello_reply_wrong_job", WIRE_HELLO_REPLY, &hello_reply_wrong_job.base },
    { "get_batch", WIRE_GET_BATCH, &get_batch.base },
    { "get_batch_least", WIRE_GET_BATCH, &get_batch_least.base },
    { "get_batch_most", WIRE_GET_BATCH, &get_batch_most.base },
    { "batch", WIRE_BATCH, &batch.base },
    { "batch_header_only", WIRE_BATCH, &batch_header_only.base },
    { "batch_end", WIRE_BATCH, &batch_end.base },
    { "batch_later_status", WIRE_BATCH, &batch_later_status.base },
    { "ack", WIRE_ACK, &ack.base },
    { "ack_least", WIRE_ACK, &ack_least.base },
    { "admin", WIRE_ADMIN, &admin.base },
    { "admin_least", WIRE_ADMIN, &admin_least.base },
    { "admin_reply", WIRE_ADMIN_REPLY, &admin_reply.base },
    { "admin_reply_unknown_command", WIRE_ADMIN_REPLY, &admin_reply_unknown_command.base },
    { "refusal", WIRE_REFUSAL, &refusal.base },
    { "refusal_text", WIRE_REFUSAL, &refusal_text.base },
};
const size_t sample_count = sizeof samples / sizeof *samples;
