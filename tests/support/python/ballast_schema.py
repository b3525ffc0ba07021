"""The tables of proto/PROTOCOL.md: messages, statuses, limits."""

MAGIC = b"BLST"
VERSION = 1
PREAMBLE_BYTES = 8
MAX_REQUEST_BYTES = 4096
MAX_REPLY_BYTES = 65536
MAX_CP_RANKS = 1024
MAX_SOURCES = 768
MAX_ARGUMENTS = 16
MAX_DEADLINE_MS = 600000
DIGEST_BYTES = 16
IGNORE_LABEL = -100

ENDS_DOCUMENT = 1

STATUSES = (
    "OK END TIMEOUT BUSY DRAINING BAD_REQUEST BAD_VERSION TOO_LARGE OUT_OF_RANGE WRONG_JOB "
    "BAD_DATA NO_TOKENS IO_ERROR INTERNAL UNKNOWN_COMMAND DENIED WRONG_LAYOUT"
).split()
RETRYABLE = {"TIMEOUT", "BUSY", "DRAINING", "IO_ERROR"}

TYPES = {
    1: "Hello",
    2: "HelloReply",
    3: "GetBatch",
    4: "Batch",
    5: "Ack",
    6: "Admin",
    7: "AdminReply",
    8: "Refusal",
}

# Fields in order of their numbers, from 1: (name, kind). A kind in brackets is repeated.
FIELDS = {
    "Rank": [("dp", "u32"), ("cp", "u32"), ("pp", "u32"), ("tp", "u32")],
    "Hello": [("job", "text"), ("client", "text"), ("rank", "Rank"), ("incarnation", "u64"),
              ("step", "u64"), ("next_step", "u64"), ("daemons", "u32")],
    "HelloReply": [
        ("status", "u32"),
        ("message", "text"),
        ("job", "text"),
        ("server", "text"),
        ("dp", "u32"),
        ("cp", "u32"),
        ("microbatches", "u32"),
        ("context_window", "u32"),
        ("max_sequence_length", "u32"),
        ("vocab_size", "u32"),
        ("token_bytes", "u32"),
        ("seed", "u64"),
        ("job_digest", "bytes"),
        ("steps", "u64"),
        ("sources", ["text"]),
        ("from_step", "u64"),
        ("until_step", "u64"),
        ("ledger_entries", "u32"),
        ("ledger_digest", "bytes"),
    ],
    "GetBatch": [
        ("request", "u64"),
        ("step", "u64"),
        ("microbatch", "u32"),
        ("cp_rank", "u32"),
        ("parts", "u32"),
        ("deadline_ms", "u32"),
        ("job_digest", "bytes"),
    ],
    "Batch": [
        ("status", "u32"),
        ("message", "text"),
        ("request", "u64"),
        ("step", "u64"),
        ("microbatch", "u32"),
        ("cp_rank", "u32"),
        ("parts", "u32"),
        ("digest", "bytes"),
        ("sharding", "u32"),
        ("tokens", "u32"),
        ("padded_tokens", "u32"),
        ("microbatch_tokens", "u32"),
        ("microbatch_loss_tokens", "u32"),
        ("step_tokens", "u64"),
        ("step_loss_tokens", "u64"),
        ("rank_chunks", ["u32"]),
        ("pieces_xxh3", "fixed64"),
        ("chunks_xxh3", "fixed64"),
        ("tokens_xxh3", "fixed64"),
        ("workload", "u64"),
        ("job_digest", "bytes"),
    ],
    "Ack": [("step", "u64"), ("rank", "Rank")],
    "Admin": [("command", "text"), ("arguments", ["text"])],
    "AdminReply": [("status", "u32"), ("message", "text")],
    "Refusal": [("status", "u32"), ("message", "text")],
}

# Longest text in bytes, where it is not 255.
TEXT_BYTES = {"job": 63, "server": 63, "sources": 63, "command": 63, "message": 1023}
