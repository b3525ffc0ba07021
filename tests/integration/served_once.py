"""Which tokens of which documents were served: every one of an epoch once, or it says which not.

Independent of the daemon: it knows the shards' own indices (megatron.py) and the pieces that came
over the wire (tests/support/python/ballast_wire.py), nothing else.
"""


class Account:
    """Runs of tokens by (source, document), entered as they are served."""

    def __init__(self, corpus, names):
        self.sources = [corpus.source(name) for name in names]  # by the numbers of the wire
        self.runs = {}

    def enter(self, pieces, why=""):
        """Pieces as ballast_wire.decode_pieces gives them."""
        for piece in pieces:
            length = self.sources[piece["source"]].lengths[piece["document"]]
            end = piece["offset"] + piece["length"]
            assert 0 < piece["length"] and end <= length, (piece, length)
            assert bool(piece["flags"] & 1) == (end == length), (piece, length)
            key = piece["source"], piece["document"]
            self.runs.setdefault(key, []).append((piece["offset"], end, why))

    def check_once(self, may_lack=lambda source, document: False):
        """Every token of every document once, or of some at most once; returns how many documents
        and tokens that were."""
        documents = tokens = 0
        for number, source in enumerate(self.sources):
            for document, length in enumerate(source.lengths):
                self._check_document(number, document, length, may_lack(number, document))
                documents += length > 0
                tokens += length
        return documents, tokens

    def _check_document(self, number, document, length, may_lack):
        at = 0
        for start, end, why in sorted(self.runs.get((number, document), [])):
            named = f"source {number}, document {document}"
            assert start >= at, f"{named}: twice from {start}, {why}"
            assert start == at or may_lack, f"{named}: {at}..{start} never, {why}"
            at = end
        assert at == length or may_lack, (
            f"source {number}, document {document}: never from {at} of {length}")
