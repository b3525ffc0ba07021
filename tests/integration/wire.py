"""Batches by the thousand from a running daemon: requests pipelined, content as arrays.

Speaks the protocol through tests/support/python/ballast_wire.py.
"""
import os
import sys
from array import array
from types import SimpleNamespace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                                "python"))
import ballast_wire  # noqa: E402

OK, END, TIMEOUT, BAD_REQUEST, BAD_VERSION, OUT_OF_RANGE = map(
    ballast_wire.STATUSES.index,
    ("OK", "END", "TIMEOUT", "BAD_REQUEST", "BAD_VERSION", "OUT_OF_RANGE"))
IN_FLIGHT = 16
DEADLINE_MS = 60000


def preamble(kind, version=ballast_wire.VERSION):
    """The first bytes of a header frame of message type `kind`."""
    return ballast_wire.MAGIC + bytes([version, kind, 0, 0])


class Reply(SimpleNamespace):
    """Fields of a Batch header, and the frames behind it with their checksums checked."""

    def piece_rows(self):
        """(document, offset, arrived, length, source, flags) of every piece."""
        return [tuple(p.values()) for p in ballast_wire.decode_pieces(self.frames[0])]

    def chunk_rows(self):
        """(piece, start, length) of all ranks."""
        return ballast_wire.decode_chunks(self.frames[1])

    def assembled(self):
        """Tokens, labels and positions of the rank, padding included."""
        width = 2 if self.token_bytes == 2 else 4
        rows = ballast_wire.assemble(
            vars(self), ballast_wire.decode_pieces(self.frames[0]), self.chunk_rows(),
            ballast_wire.decode_tokens(self.frames[2], width))
        return tuple(array("i", row) for row in rows)


class Client(ballast_wire.Connection):
    """A rank that may have many requests under way."""

    def __init__(self, endpoint):
        super().__init__(endpoint, timeout_ms=2 * DEADLINE_MS)
        self.facts, self.requests = None, 0

    def hello(self, step=0, next_step=0):
        kind, values, _ = self.ask("Hello", client="tests", rank={}, incarnation=1, step=step,
                                   next_step=next_step)
        ballast_wire.accept("HelloReply", kind, values)
        self.facts = SimpleNamespace(**values)
        return self.facts

    def request(self, step, microbatch, cp_rank, deadline_ms=DEADLINE_MS):
        """Sends a request and returns its number."""
        self.requests += 1
        self.send(ballast_wire.encode(
            "GetBatch", request=self.requests, step=step, microbatch=microbatch, cp_rank=cp_rank,
            parts=ballast_wire.ALL_PARTS, deadline_ms=deadline_ms))
        return self.requests

    def reply(self):
        kind, values, frames = self.receive()
        if kind != "Batch":
            raise ballast_wire.StatusError(ballast_wire.status_name(values["status"]),
                                           values["message"])
        if values["status"] == OK:
            ballast_wire.split_frames(values, frames)
        return Reply(frames=frames, token_bytes=self.facts.token_bytes, **values)

    def get(self, *request, **options):
        if self.facts is None:
            self.hello()
        number, reply = self.request(*request, **options), self.reply()
        assert reply.request == number
        return reply


def in_order(client, wanted):
    """Replies to (step, micro-batch, CP rank) requests, in the order in which they were asked."""
    if client.facts is None:
        client.hello()
    under_way, early = [], {}
    for request in wanted:
        under_way.append(client.request(*request))
        if len(under_way) == IN_FLIGHT:
            yield take(client, under_way, early)
    while under_way:
        yield take(client, under_way, early)


def take(client, under_way, early):
    """The reply to the oldest request; others that come first are kept."""
    number = under_way.pop(0)
    while number not in early:
        reply = client.reply()
        early[reply.request] = reply
    return early.pop(number)


def batches(endpoint, steps, microbatches, ranks):
    """Every rank of every micro-batch of `steps`; all must be there."""
    microbatches, ranks = list(microbatches), list(ranks)
    wanted = ((step, m, rank) for step in steps for m in microbatches for rank in ranks)
    with Client(endpoint) as client:
        for reply in in_order(client, wanted):
            assert reply.status == OK, (reply.status, reply.message)
            yield reply
