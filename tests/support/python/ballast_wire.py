"""A second implementation of the Ballast protocol, written from proto/PROTOCOL.md alone.

Standard library only. With the package `xxhash` it checks checksums; with `pyzmq` it speaks to a
daemon (Connection, Operator). Kept plain on purpose: it is the measure for the C implementation.
"""

import json
import struct

from ballast_schema import (
    DIGEST_BYTES,
    ENDS_DOCUMENT,
    FIELDS,
    IGNORE_LABEL,
    MAGIC,
    MAX_ARGUMENTS,
    MAX_CP_RANKS,
    MAX_DEADLINE_MS,
    MAX_REPLY_BYTES,
    MAX_SOURCES,
    PREAMBLE_BYTES,
    STATUSES,
    TEXT_BYTES,
    TYPES,
    VERSION,
)

PART_PIECES, PART_CHUNKS, PART_TOKENS = 1, 2, 4
ALL_PARTS = PART_PIECES | PART_CHUNKS | PART_TOKENS


class WireError(Exception):
    """Bytes that PROTOCOL.md says must be refused; `status` is the status to refuse them with."""

    def __init__(self, status, why):
        super().__init__(f"{status}: {why}")
        self.status = status


class StatusError(Exception):
    """A well-formed reply whose status is not OK."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


def bad(why):
    return WireError("BAD_REQUEST", why)


def status_name(number):
    return STATUSES[number] if number < len(STATUSES) else "UNKNOWN"


# --- protobuf ---------------------------------------------------------------------------------


def encode_varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(data, at):
    value = 0
    for i in range(10):
        if at + i >= len(data):
            raise bad("cut off inside a number")
        value |= (data[at + i] & 0x7F) << (7 * i)
        if data[at + i] < 0x80:
            if value >> 64:
                raise bad("a number over 64 bits")
            return value, at + i + 1
    raise bad("a number over ten bytes")


def encode_fields(message, values):
    """Packs `values` canonically: fields by number, defaults left out, numbers packed."""
    unknown = set(values) - {name for name, _ in FIELDS[message]}
    if unknown:
        raise ValueError(f"{message} has no field {sorted(unknown)}")
    out = b""
    for number, (name, kind) in enumerate(FIELDS[message], 1):
        if name in values:
            out += encode_field(number, kind, values[name])
    return out


def encode_bytes(number, data):
    return encode_varint(number << 3 | 2) + encode_varint(len(data)) + data


def encode_field(number, kind, value):
    if kind == ["u32"]:
        return encode_bytes(number, b"".join(map(encode_varint, value))) if value else b""
    if kind == ["text"]:
        return b"".join(encode_bytes(number, text.encode()) for text in value)
    if kind in FIELDS:
        return encode_bytes(number, encode_fields(kind, value))
    if not value:
        return b""
    if kind in ("u32", "u64"):
        return encode_varint(number << 3) + encode_varint(value)
    if kind == "fixed64":
        return encode_varint(number << 3 | 1) + struct.pack("<Q", value)
    return encode_bytes(number, value.encode() if kind == "text" else value)


DEFAULTS = {"u32": 0, "u64": 0, "fixed64": 0, "text": "", "bytes": b""}


def decode_fields(message, data):
    """Unpacks with every default filled in; a sub-message that is absent is None."""
    values = {
        name: [] if isinstance(kind, list) else DEFAULTS.get(kind)
        for name, kind in FIELDS[message]
    }
    at = 0
    while at < len(data):
        key, at = decode_varint(data, at)
        number, wire_type = key >> 3, key & 7
        if number == 0 or key >> 32:
            raise bad("field key out of range")
        raw, at = decode_raw(data, at, wire_type)
        if number <= len(FIELDS[message]):
            name, kind = FIELDS[message][number - 1]
            take_field(values, name, kind, wire_type, raw)
    return values


def decode_raw(data, at, wire_type):
    if wire_type == 0:
        return decode_varint(data, at)
    if wire_type == 2:
        size, at = decode_varint(data, at)
    elif wire_type in (1, 5):
        size = 8 if wire_type == 1 else 4
    else:
        raise bad("a group, or an unknown wire type")
    if size > len(data) - at:
        raise bad("cut off inside a field")
    return data[at : at + size], at + size


def u32(value):
    if value >> 32:
        raise bad("a number over 32 bits")
    return value


def take_field(values, name, kind, wire_type, raw):
    if kind == ["u32"] and wire_type == 2:
        at = 0
        while at < len(raw):
            value, at = decode_varint(raw, at)
            values[name].append(u32(value))
        return
    scalar = kind[0] if isinstance(kind, list) else kind
    if wire_type != {"u32": 0, "u64": 0, "fixed64": 1}.get(scalar, 2):
        raise bad(f"{name} has the wrong wire type")
    value = convert(values, name, scalar, raw)
    if isinstance(kind, list):
        values[name].append(value)
    else:
        values[name] = value


def convert(values, name, kind, raw):
    if kind == "u32":
        return u32(raw)
    if kind == "fixed64":
        return struct.unpack("<Q", raw)[0]
    if kind == "text":
        return text(raw)
    if kind in FIELDS:
        if values[name] is not None:
            raise bad(f"{name} given twice")
        return decode_fields(kind, raw)
    return raw


def text(raw):
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise bad("text that is not UTF-8") from None
    if any(ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F for c in decoded):
        raise bad("control character in a text")
    return decoded


# --- header frames ----------------------------------------------------------------------------


def preamble(number, version=VERSION):
    return MAGIC + bytes([version, number, 0, 0])


def encode(message, /, **values):
    """The header frame of a message, checked like one that arrives."""
    number = next(n for n, name in TYPES.items() if name == message)
    frame = preamble(number) + encode_fields(message, values)
    decode(frame)
    return frame


def decode(frame, max_bytes=MAX_REPLY_BYTES):
    """(name of the message, its fields); WireError for what must be refused."""
    if len(frame) > max_bytes:
        raise WireError("TOO_LARGE", f"{len(frame)} bytes, at most {max_bytes}")
    if len(frame) < PREAMBLE_BYTES or frame[:4] != MAGIC:
        raise bad("no preamble")
    if frame[4] != VERSION:
        raise WireError("BAD_VERSION", f"version {frame[4]}")
    if frame[5] not in TYPES:
        raise bad(f"message type {frame[5]}")
    if frame[6:8] != b"\0\0":
        raise bad("bytes 6 and 7 are not zero")
    message = TYPES[frame[5]]
    values = decode_fields(message, frame[PREAMBLE_BYTES:])
    check(message, values)
    return message, values


def need(condition, why):
    if not condition:
        raise bad(why)


def check(message, v):
    """The ranges of PROTOCOL.md, Messages."""
    for name, kind in FIELDS[message]:
        texts = v[name] if isinstance(kind, list) else [v[name]]
        if "text" in kind:
            limit = TEXT_BYTES.get(name, 255)
            need(all(len(t.encode()) <= limit for t in texts), f"{name} over {limit} bytes")
        if kind == "bytes":
            need(len(v[name]) in (0, DIGEST_BYTES), f"{name} is not {DIGEST_BYTES} bytes")
    CHECKS.get(message, lambda v: None)(v)


def check_hello_reply(v):
    need(len(v["sources"]) <= MAX_SOURCES, "too many sources")
    need(not v["until_step"] or v["until_step"] > v["from_step"], "until_step")
    if v["status"]:
        return
    need(v["dp"] >= 1 and v["microbatches"] >= 1, "no micro-batches")
    need(v["dp"] * v["microbatches"] < 2**32, "too many micro-batches")
    need(1 <= v["cp"] <= MAX_CP_RANKS, "cp")
    need(1 <= v["context_window"] <= v["max_sequence_length"], "window")
    need(v["vocab_size"] < 2**31, "vocab_size")
    need(v["token_bytes"] == (2 if 1 <= v["vocab_size"] <= 65536 else 4), "token_bytes")
    need(len(v["job_digest"]) == DIGEST_BYTES, "job_digest missing")


def check_batch(v):
    if v["status"]:
        return
    totals = v["rank_chunks"]
    need(not v["parts"] & ~ALL_PARTS, "unknown parts")
    need(len(v["digest"]) == DIGEST_BYTES, "digest missing")
    need(v["tokens"] <= min(v["padded_tokens"], v["microbatch_tokens"]), "tokens")
    need(v["microbatch_loss_tokens"] <= v["microbatch_tokens"] <= v["step_tokens"], "counts")
    need(v["step_loss_tokens"] <= v["step_tokens"], "step counts")
    need(totals or not v["parts"] & PART_CHUNKS, "rank_chunks missing")
    if totals:
        need(2 <= len(totals) <= MAX_CP_RANKS + 1, "rank_chunks count")
        need(totals[0] == 0 and totals == sorted(totals), "rank_chunks are not running totals")
        need(v["cp_rank"] < len(totals) - 1, "cp_rank")


def check_get_batch(v):
    need(not v["parts"] & ~ALL_PARTS, "unknown parts")
    need(v["deadline_ms"] <= MAX_DEADLINE_MS, "deadline_ms")


def check_admin(v):
    need(v["command"], "no command")
    need(len(v["arguments"]) <= MAX_ARGUMENTS, "too many arguments")


CHECKS = {
    "Hello": lambda v: need(v["rank"] is not None, "no rank"),
    "HelloReply": check_hello_reply,
    "GetBatch": check_get_batch,
    "Batch": check_batch,
    "Ack": lambda v: need(v["rank"] is not None, "no rank"),
    "Admin": check_admin,
    "Refusal": lambda v: need(v["status"], "a refusal with status OK"),
}


# --- frames behind a Batch header -------------------------------------------------------------


def decode_pieces(frame):
    need(len(frame) % 32 == 0, "piece table size")
    names = ("document", "offset", "arrived", "length", "source", "flags")
    return [dict(zip(names, row)) for row in struct.iter_unpack("<QQQIHH", frame)]


def decode_chunks(frame):
    """[(piece, start, length)] of all CP ranks."""
    need(len(frame) % 12 == 0, "chunk table size")
    return list(struct.iter_unpack("<III", frame))


def decode_tokens(frame, token_bytes):
    need(len(frame) % token_bytes == 0, "token frame size")
    kind = {2: "H", 4: "I"}[token_bytes]
    return list(struct.unpack(f"<{len(frame) // token_bytes}{kind}", frame))


def checksum(frame):
    """XXH3-64 of a frame, or None where the package xxhash is not installed."""
    try:
        import xxhash
    except ImportError:
        return None
    return xxhash.xxh3_64_intdigest(frame)


def split_frames(batch, frames):
    """{"pieces": ..., "chunks": ..., "tokens": ...} of the frames behind a Batch header."""
    wanted = [
        name
        for part, name in ((1, "pieces"), (2, "chunks"), (4, "tokens"))
        if batch["parts"] & part
    ]
    need(len(frames) == len(wanted), f"{len(frames)} frames, {len(wanted)} expected")
    parts = dict(zip(wanted, frames))
    for name, frame in parts.items():
        need(checksum(frame) in (None, batch[f"{name}_xxh3"]), f"checksum of {name}")
    return parts


def check_tables(pieces, chunks, batch):
    """Every token of every piece is on exactly one rank, and the counts agree."""
    totals = batch["rank_chunks"]
    need(totals[-1] == len(chunks), "rank_chunks do not cover the chunk table")
    need(sum(p["length"] for p in pieces) == batch["microbatch_tokens"], "tokens of the pieces")
    runs = {}
    for piece, start, length in chunks:
        need(piece < len(pieces) and length >= 1, "chunk of no piece, or empty")
        runs.setdefault(piece, []).append((start, length))
    for index, piece in enumerate(pieces):
        at = 0
        for start, length in sorted(runs.get(index, [])):
            need(start == at, f"piece {index} has a gap or an overlap at {at}")
            at += length
        need(at == piece["length"] >= 1, f"piece {index} is not covered")


def assemble(batch, pieces, chunks, payload):
    """(tokens, labels, positions) of this rank, padded, as a trainer sees them."""
    rank, totals = batch["cp_rank"], batch["rank_chunks"]
    tokens, labels, positions, at = [], [], [], 0
    for piece, start, length in chunks[totals[rank] : totals[rank + 1]]:
        run = payload[at : at + length + 1]
        need(len(run) == length + 1, "token frame too short")
        at += length + 1
        tokens += run[:-1]
        labels += run[1:]
        positions += range(start, start + length)
        facts = pieces[piece]
        if facts["flags"] & ENDS_DOCUMENT and start + length == facts["length"]:
            need(run[-1] == 0, "token behind the end of a document")
            labels[-1] = IGNORE_LABEL
    need(at == len(payload), "token frame too long")
    need(len(tokens) == batch["tokens"], "tokens of the rank")
    padding = batch["padded_tokens"] - len(tokens)
    return tokens + [0] * padding, labels + [IGNORE_LABEL] * padding, positions + [0] * padding


def content(batch, raw, token_bytes):
    """What the frames hold: pieces, chunks, and with all three tokens, labels and positions."""
    found = {}
    if "pieces" in raw:
        found["pieces"] = decode_pieces(raw["pieces"])
    if "chunks" in raw:
        found["chunks"] = decode_chunks(raw["chunks"])
    if len(found) == 2:
        check_tables(found["pieces"], found["chunks"], batch)
    if len(raw) == 3:
        payload = decode_tokens(raw["tokens"], token_bytes)
        rows = assemble(batch, found["pieces"], found["chunks"], payload)
        found |= dict(zip(("rank_tokens", "labels", "positions"), rows))
    return found


# --- speaking to a daemon ---------------------------------------------------------------------


class Link:
    """One DEALER socket, for a `with` block; every wait has a limit.

    `curve` is (server's public key, own public key, own secret key), each as Z85 bytes.
    """

    def __init__(self, endpoint, timeout_ms=10000, curve=None):
        import zmq

        self.timeout_ms = timeout_ms
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        if curve:
            self.socket.curve_serverkey, self.socket.curve_publickey = curve[:2]
            self.socket.curve_secretkey = curve[2]
        self.socket.connect(endpoint)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()
        self.context.term()

    def send(self, *frames):
        self.socket.send_multipart(frames)

    def receive(self, timeout_ms=None):
        """(name of the message, fields, further frames)."""
        if not self.socket.poll(self.timeout_ms if timeout_ms is None else timeout_ms):
            raise TimeoutError("no reply")
        header, *frames = self.socket.recv_multipart()
        return *decode(header), frames

    def ask(self, message, /, **values):
        self.send(encode(message, **values))
        return self.receive()


def accept(kind, message, values):
    """The fields of a reply of the kind asked for, with status OK; StatusError otherwise."""
    status = status_name(values.get("status", 0))
    if message != kind or status != "OK":
        raise StatusError(status, values.get("message", message))
    return values


class Connection(Link):
    """A trainer rank."""

    def __init__(self, endpoint, dp=0, cp=0, timeout_ms=10000, curve=None):
        super().__init__(endpoint, timeout_ms, curve)
        self.rank = {"dp": dp, "cp": cp}
        self.job = None
        self.requests = 0

    def hello(self, job="", client="python", incarnation=1, deadline_ms=None, alive=lambda: True,
              step=0, next_step=0, daemons=1):
        """Facts of the job at a step, for a trainer that may have had those before next_step.

        Gives up after deadline_ms, or as soon as not alive().
        """
        self.send(
            encode("Hello", job=job, client=client, rank=self.rank, incarnation=incarnation,
                   step=step, next_step=next_step, daemons=daemons)
        )
        left_ms = self.timeout_ms if deadline_ms is None else deadline_ms
        while left_ms > 100 and alive() and not self.socket.poll(100):
            left_ms -= 100
        if not alive():
            raise ConnectionError("the daemon has ended")
        message, values, _ = self.receive(left_ms)
        self.job = accept("HelloReply", message, values)
        return self.job

    def request(self, step, microbatch, cp_rank=None, parts=ALL_PARTS, deadline_ms=5000):
        """Sends a GetBatch and returns its number, for as many in flight as wanted."""
        if self.job is None:
            self.hello()
        self.requests += 1
        header = encode(
            "GetBatch",
            request=self.requests,
            step=step,
            microbatch=microbatch,
            cp_rank=self.rank["cp"] if cp_rank is None else cp_rank,
            parts=parts,
            deadline_ms=deadline_ms,
            job_digest=self.job["job_digest"],
        )
        self.send(header)
        return self.requests

    def reply(self, timeout_ms=None):
        """The next Batch: its fields, "frames" by name, and their content; checked throughout."""
        message, batch, frames = self.receive(timeout_ms)
        accept("Batch", message, batch)
        raw = split_frames(batch, frames)
        return batch | content(batch, raw, self.job["token_bytes"]) | {"frames": raw}

    def get_batch(self, step, microbatch, cp_rank=None, parts=ALL_PARTS, deadline_ms=5000):
        number = self.request(step, microbatch, cp_rank, parts, deadline_ms)
        batch = self.reply(deadline_ms + self.timeout_ms)
        need(batch["request"] == number, "answer to another request")
        need((batch["step"], batch["microbatch"]) == (step, microbatch), "another micro-batch")
        need(batch["parts"] == parts, "other parts than asked for")
        return batch

    def ack(self, step):
        self.send(encode("Ack", step=step, rank=self.rank))


class Operator(Link):
    """The admin socket."""

    def admin(self, command, *arguments):
        message, values, frames = self.ask("Admin", command=command, arguments=list(arguments))
        accept("AdminReply", message, values)
        need(len(frames) == 1, "one frame of JSON expected")
        return json.loads(frames[0])
