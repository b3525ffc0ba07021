"""The second implementation of the protocol agrees with the golden vectors, with the schema and
with PROTOCOL.md. The C implementation is held to the same vectors by tests/unit/proto."""
import os
import re
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
import ballast_schema as schema  # noqa: E402
import ballast_wire as wire  # noqa: E402


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def vectors(kind):
    """The words of every line of that kind, the last one as bytes."""
    lines = [line.split() for line in read("tests", "unit", "proto", "vectors.txt").splitlines()]
    return [[*words[1:-1], bytes.fromhex(words[-1].strip("-"))]
            for words in lines if words and words[0] == kind]


PROTOCOL = read("proto", "PROTOCOL.md")
FRAMES = {name: frame for name, _, frame in vectors("frame")}


@pytest.mark.parametrize("name, frame", vectors("accept"))
def test_accepted_vectors_survive_a_round_trip(name, frame):
    message, values = wire.decode(frame)
    assert name.replace("_", "").startswith(message.lower())
    given = {field: value for field, value in values.items() if value is not None}
    assert wire.encode(message, **given) == frame


@pytest.mark.parametrize("name, frame", vectors("loose"))
def test_loose_vectors_are_read(name, frame):
    message, values = wire.decode(frame)
    given = {field: value for field, value in values.items() if value is not None}
    assert wire.decode(wire.encode(message, **given)) == (message, values)
    assert wire.encode(message, **given) != frame, "it would be an accepted vector"


@pytest.mark.parametrize("name, status, frame", vectors("reject"))
def test_rejected_vectors_are_refused(name, status, frame):
    with pytest.raises(wire.WireError) as refusal:
        wire.decode(frame)
    assert refusal.value.status == status


def test_there_are_vectors_of_every_message_and_many_to_refuse():
    assert {wire.decode(frame)[0] for _, frame in vectors("accept")} == set(schema.TYPES.values())
    assert len(vectors("reject")) >= 90


def test_a_vector_is_too_large_one_byte_over_the_limit():
    for _, frame in vectors("accept"):
        wire.decode(frame, max_bytes=len(frame))
        with pytest.raises(wire.WireError) as refusal:
            wire.decode(frame, max_bytes=len(frame) - 1)
        assert refusal.value.status == "TOO_LARGE"


def test_checksums_are_xxh3_64():
    xxhash = pytest.importorskip("xxhash")
    for _, expected, frame in vectors("frame"):
        assert f"{xxhash.xxh3_64_intdigest(frame):016x}" == expected


def example():
    """The header of PROTOCOL.md's example, its pieces, its chunks."""
    header = next(frame for name, frame in vectors("accept") if name == "batch")
    return (wire.decode(header)[1], wire.decode_pieces(FRAMES["pieces"]),
            wire.decode_chunks(FRAMES["chunks"]))


def test_the_example_gives_tokens_labels_and_positions():
    batch, pieces, chunks = example()
    wire.split_frames(batch, [FRAMES[name] for name in ("pieces", "chunks", "tokens")])
    wire.check_tables(pieces, chunks, batch)
    tokens, labels, positions = wire.assemble(
        batch, pieces, chunks, wire.decode_tokens(FRAMES["tokens"], 2))
    assert tokens == [11, 14, 15, 21]
    assert labels == [12, 15, wire.IGNORE_LABEL, 22]
    assert positions == [0, 3, 4, 0]


def test_padding_has_no_label():
    batch, pieces, chunks = example()
    padded = {**batch, "padded_tokens": 6}
    tokens, labels, positions = wire.assemble(
        padded, pieces, chunks, wire.decode_tokens(FRAMES["tokens"], 2))
    assert (tokens[4:], labels[4:], positions[4:]) == ([0, 0], [wire.IGNORE_LABEL] * 2, [0, 0])


@pytest.mark.parametrize("chunks", [
    [(0, 0, 1), (0, 3, 2), (1, 0, 1), (0, 1, 2)],                        # one missing
    [(0, 0, 2), (0, 3, 2), (1, 0, 1), (0, 1, 2), (1, 1, 2)],             # overlap
    [(0, 0, 1), (0, 3, 3), (1, 0, 1), (0, 1, 2), (1, 1, 2)],             # beyond the piece
    [(0, 0, 1), (0, 3, 2), (2, 0, 1), (0, 1, 2), (1, 1, 2)],             # no such piece
    [(0, 0, 1), (0, 3, 2), (1, 0, 0), (0, 1, 2), (1, 0, 3)],             # empty
])
def test_wrong_chunk_tables_are_found(chunks):
    batch, pieces, _ = example()
    with pytest.raises(wire.WireError):
        wire.check_tables(pieces, chunks, batch)


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t + [1],
                                    lambda t: [*t[:4], 9, *t[5:]]])
def test_wrong_token_frames_are_found(change):
    batch, pieces, chunks = example()
    payload = change(wire.decode_tokens(FRAMES["tokens"], 2))
    with pytest.raises(wire.WireError):
        wire.assemble(batch, pieces, chunks, payload)


# --- PROTOCOL.md, the schema and the tables of C say the same ---------------------------------


def schema_of_proto():
    """{message: [(field, kind)]} of ballast.proto, in the notation of ballast_schema."""
    kinds = {"uint32": "u32", "uint64": "u64", "string": "text", "bytes": "bytes",
             "fixed64": "fixed64", "Rank": "Rank"}
    found = {}
    text = read("proto", "ballast", "v1", "ballast.proto")
    for message, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.M | re.S):
        rows = re.findall(r"^  (repeated )?(\w+) (\w+) = (\d+);", body, re.M)
        assert [int(number) for *_, number in rows] == list(range(1, len(rows) + 1)), message
        found[message] = [(name, [kinds[kind]] if repeated else kinds[kind])
                          for repeated, kind, name, _ in rows]
    return found


def test_the_second_implementation_has_the_fields_of_the_schema():
    assert schema.FIELDS == schema_of_proto()


def test_protocol_md_documents_every_field_with_its_number():
    documented = re.findall(r"^\| (\d+) \| `(\w+)` \|", PROTOCOL, re.M)
    expected = [(str(number), name) for fields in schema_of_proto().values()
                for number, (name, _) in enumerate(fields, 1)]
    assert sorted(documented) == sorted(expected)


def test_protocol_md_and_status_def_have_the_same_statuses():
    table = read("proto", "wire", "status.def")
    defined = re.findall(r"^STATUS\((\w+), (\d+), (\w+),", table, re.M)
    told = re.findall(r"^\| (\d+) \| ([A-Z_]+) \| (yes|no|-) \|", PROTOCOL, re.M)
    assert [(name, number) for name, number, _ in defined] == [(name, n) for n, name, _ in told]
    assert [word == "true" for *_, word in defined] == [word == "yes" for *_, word in told]
    assert schema.STATUSES == [name for name, *_ in defined]
    assert schema.RETRYABLE == {name for name, _, retryable in defined if retryable == "true"}


def test_protocol_md_and_frame_h_have_the_same_types():
    defined = re.findall(r"^    WIRE_(\w+) = (\d+),", read("proto", "wire", "frame.h"), re.M)
    told = re.findall(r"^\| (\d) \| ([A-Z_]+) \| (?:client|server|`ballastctl`) to", PROTOCOL, re.M)
    assert defined == [(name, number) for number, name in told]
    assert [name.replace("_", "").lower() for name, _ in defined] == [
        name.lower() for name in schema.TYPES.values()]


def test_limits_are_those_of_limits_h():
    text = read("proto", "wire", "limits.h")
    limits = {name: eval(re.sub(r"(\d)u\b", r"\1", re.sub(r"(0x\w+?)u\b", r"\1", value)))
              for name, value in re.findall(r"^#define WIRE_(\w+) (\S[^/\n]*?) *(?:/|$)", text,
                                            re.M)}
    same = {"MAX_REQUEST_BYTES", "MAX_REPLY_BYTES", "MAX_SOURCES", "MAX_ARGUMENTS",
            "MAX_CP_RANKS", "MAX_DEADLINE_MS", "DIGEST_BYTES"}
    assert {name: limits[name] for name in same} == {name: getattr(schema, name) for name in same}
    section = PROTOCOL[PROTOCOL.index("## 10. Limits"):PROTOCOL.index("## 11.")]
    for name, value in limits.items():
        words = {"UNPACK_BUDGET": "256 KiB", "MAX_VOCABULARY": "2^31-1"}.get(name, str(value))
        assert re.search(rf"\| {re.escape(words)}\b", section), (name, value)


def test_the_dumps_in_protocol_md_are_vectors():
    blocks, dump = [], b""
    for line in PROTOCOL.splitlines() + [""]:
        row = re.fullmatch(r"    ([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+)", line)
        if row:
            assert int(row[1], 16) == len(dump)
            dump += bytes.fromhex(row[2])
        elif dump:
            blocks.append(dump)
            dump = b""
    known = dict(vectors("accept"))
    assert blocks == [known["get_batch"], known["batch"], FRAMES["pieces"], FRAMES["chunks"],
                      FRAMES["tokens"]]
