"""Packing a second time, from PAPER.md: Algorithm 1 and the fixed windows of Plain-4D.

Works on plain tuples and Python's own integers; shares no code and no data structure with the
daemon.
"""
from collections import deque
from typing import NamedTuple


class Piece(NamedTuple):
    arrived: int
    source: int
    document: int
    offset: int
    length: int


class Shape(NamedTuple):
    microbatches: int  # N
    window: int        # S
    max_tokens: int    # S_max
    crossover: int     # B

    def work(self, tokens):
        """W(d) = d + d^2 / B in 1024ths of a token's linear cost, the factor in 32.32 bits."""
        factor = ((1024 << 32) + self.crossover // 2) // self.crossover
        return 1024 * tokens + (factor * tokens * tokens >> 32)


def place(pieces, shape):
    """Step 4: least workload if it stays below S_max, else fewest tokens, else left over.

    A piece as long as S_max, on which the paper is silent, goes into an empty micro-batch.
    """
    boxes = [[] for _ in range(shape.microbatches)]
    work, tokens = [0] * shape.microbatches, [0] * shape.microbatches
    left = []
    for piece in pieces:
        for measure in (work, tokens):
            least = measure.index(min(measure))
            if tokens[least] + piece.length < shape.max_tokens or not tokens[least]:
                boxes[least].append(piece)
                work[least] += shape.work(piece.length)
                tokens[least] += piece.length
                break
        else:
            left.append(piece)
    return boxes, left


class Intake:
    """Hands out the stream, stamped with the step of arrival."""

    def __init__(self, order):
        self.order, self.at = order, 0
        self.ended = False  # known only once a piece was asked for in vain

    def take(self, step):
        self.ended = self.at == len(self.order)
        if self.ended:
            return None
        self.at += 1
        return self.order[self.at - 1]._replace(arrived=step)


def total(pieces):
    return sum(piece.length for piece in pieces)


def wlb(order, shape, thresholds, steps, max_waiting=16):
    """Algorithm 1. Yields, per step, N lists of pieces; and what waits after it.

    A step has N x S tokens when what was left over and what arrived come to as many.
    """
    intake, left = Intake(order), []
    queues = [deque() for _ in thresholds]
    full = shape.microbatches * shape.window
    for step in range(steps):
        new, tokens, waiting = [], total(left), total(left) + sum(map(total, queues))
        while tokens < full and waiting <= max_waiting * full and (piece := intake.take(step)):
            tokens += piece.length
            level = sum(piece.length >= threshold for threshold in thresholds) - 1
            if level < 0:
                new.append(piece)
            else:
                queues[level].append(piece)
                waiting += piece.length
        for queue in queues:
            if intake.ended:
                new.extend(queue)
                queue.clear()
            elif len(queue) >= shape.microbatches:
                new.extend(queue.popleft() for _ in range(shape.microbatches))
        new.sort(key=lambda piece: -piece.length)  # stable: equals stay in order
        boxes, left = place(left + new, shape)
        yield boxes, [p for q in queues for p in q] + left


def cut_at_windows(order, window):
    """The pieces that Plain-4D makes: every document cut where a window of S tokens ends."""
    room = window
    for piece in order:
        while piece.length:
            cut = min(piece.length, room)
            yield piece._replace(length=cut)
            piece = piece._replace(offset=piece.offset + cut, length=piece.length - cut)
            room = room - cut or window


def plain(order, shape, steps):
    """Plain-4D. Yields, per step, N lists of pieces; and what waits after it."""
    intake, carry = Intake(order), []
    full = shape.microbatches * shape.window
    for step in range(steps):
        arrived, tokens = carry, total(carry)
        while tokens < full and (piece := intake.take(step)):
            arrived.append(piece)
            tokens += piece.length
        boxes, carry = [[] for _ in range(shape.microbatches)], []
        at = 0
        for piece in cut_at_windows(arrived, shape.window):
            (boxes[at // shape.window] if at < full else carry).append(piece)
            at += piece.length
        yield boxes, carry
