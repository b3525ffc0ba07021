"""The data order a second time: everything the daemon promises, recomputed from the shards' own
bytes and the plan's JSON.

A plan is a list of steps as `ballastctl plan --json` prints them. Each check raises AssertionError
with what differs.
"""
from array import array
from collections import Counter

from second_packing import Piece, total

IGNORE = -100


def pieces_of(corpus, microbatch):
    """Pieces of one micro-batch, with the source as its number."""
    numbers = {source.name: i for i, source in enumerate(corpus.sources)}
    return [Piece(p["arrived"], numbers[p["source"]], p["document"], p["offset"], p["length"])
            for p in microbatch["pieces"]]


def all_pieces(corpus, plan):
    return [p for step in plan for mb in step["microbatches"] for p in pieces_of(corpus, mb)]


def stream_order(corpus, plain_plan, window):
    """The stream that every policy gets, read back from what `plain` served in arrival order."""
    runs = []
    for p in all_pieces(corpus, plain_plan):
        last = runs[-1] if runs else None
        if last and last[:2] == [p.source, p.document] and last[2] + last[3] == p.offset:
            last[3] += p.length
        else:
            runs.append([p.source, p.document, p.offset, p.length])
    order = []
    for source, document, offset, length in runs:
        while length:
            cut = min(length, window - offset % window)
            order.append(Piece(0, source, document, offset, cut))
            offset, length = offset + cut, length - cut
    return order


def check_epochs(corpus, order):
    """Epoch after epoch, every document that holds a token comes exactly once, whole, in order."""
    for number, source in enumerate(corpus.sources):
        full = sorted(d for d, length in enumerate(source.lengths) if length)
        seen, expected = [], None
        for p in (p for p in order if p.source == number):
            if expected is None:
                assert p.offset == 0, p
                seen.append(p.document)
                expected = (p.document, 0)
            assert (p.document, p.offset) == expected, (p, expected)
            end = p.offset + p.length
            expected = None if end == source.lengths[p.document] else (p.document, end)
        epochs = [seen[i : i + len(full)] for i in range(0, len(seen), len(full))]
        for epoch in epochs:
            assert len(set(epoch)) == len(epoch) and set(epoch) <= set(full), source.name
            assert len(epoch) == len(full) or epoch is epochs[-1], source.name
        if len(epochs) > 1 and len(full) > 20:
            assert epochs[0] != epochs[1] and epochs[0] != full, "not shuffled"


def check_blend(corpus, order):
    """Each source is within one document of its token share at every prefix of the stream."""
    served, so_far = [0] * len(corpus.sources), 0
    shares = [weight / sum(corpus.weights) for weight in corpus.weights]
    longest = max(max(source.lengths) for source in corpus.sources)
    for p in order:
        served[p.source] += p.length
        so_far += p.length
        for tokens, share in zip(served, shares):
            assert abs(tokens - so_far * share) <= longest, (served, longest)


def check_served_once(corpus, order, plan):
    """No piece is served more often than it stands in the stream, or before it arrived."""
    left = Counter(p[1:] for p in order)
    for step in plan:
        served = all_pieces(corpus, [step])
        assert all(p.arrived <= step["step"] for p in served)
        left.subtract(p[1:] for p in served)
    twice = [key for key, count in left.items() if count < 0]
    assert not twice, twice[:3]


def check_documents(corpus, plan):
    """A finite run that came to its end: every document once, in contiguous parts."""
    parts = {}
    for p in all_pieces(corpus, plan):
        parts.setdefault((p.source, p.document), []).append((p.offset, p.length))
    for number, source in enumerate(corpus.sources):
        for document, length in enumerate(source.lengths):
            end = 0
            for offset, count in sorted(parts.pop((number, document), [])):
                assert offset == end and count > 0, (source.name, document, offset, end)
                end += count
            assert end == length, (source.name, document, end, length)
    assert not parts


def check_packing(corpus, plan, expected):
    """Micro-batches piece by piece, and what waits, against a second packer's."""
    for step, (boxes, waiting) in zip(plan, expected, strict=True):
        for mb, box in zip(step["microbatches"], boxes, strict=True):
            assert pieces_of(corpus, mb) == box, (step["step"], mb["index"])
        oldest = min((p.arrived for p in waiting), default=step["step"] + 1)
        assert step["waiting"] == {"pieces": len(waiting), "oldest": oldest,
                                   "tokens": sum(p.length for p in waiting)}, step["step"]


def loss_tokens(corpus, microbatch):
    """Tokens that have a label: all but the last of each document."""
    pieces = pieces_of(corpus, microbatch)
    return total(pieces) - sum(
        p.offset + p.length == corpus.sources[p.source].lengths[p.document] for p in pieces)


def check_counts(corpus, plan, shape):
    """Workload, tokens and loss tokens of every micro-batch and step; the imbalance of a step."""
    for step in plan:
        mbs = step["microbatches"]
        for mb in mbs:
            pieces = pieces_of(corpus, mb)
            assert mb["workload"] == sum(shape.work(p.length) for p in pieces)
            assert mb["tokens"] == total(pieces)
            assert mb["loss_tokens"] == loss_tokens(corpus, mb)
            assert mb["padded_tokens"] == max(rank["tokens"] for rank in mb["ranks"])
        for name in ("tokens", "loss_tokens"):
            assert step[name] == sum(mb[name] for mb in mbs)
        works = [mb["workload"] for mb in mbs]
        assert abs(step["imbalance"] - max(works) * len(works) / sum(works)) < 1e-6


def expected_rank(corpus, microbatch, rank):
    """Tokens, labels and positions of one rank of one micro-batch, from the shards."""
    tokens, labels, positions = array("i"), array("i"), array("i")
    pieces = pieces_of(corpus, microbatch)
    for number, start, length in microbatch["ranks"][rank]["chunks"]:
        p = pieces[number]
        source = corpus.sources[p.source]
        first, size = p.offset + start, source.lengths[p.document]
        run = array("i", source.read(p.document, first, min(length + 1, size - first)))
        tokens.extend(run[:length])
        labels.extend(run[1 : length + 1])
        if first + length == size:
            labels.append(IGNORE)
        positions.extend(range(start, start + length))
    return tokens, labels, positions
