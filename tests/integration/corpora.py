"""The corpora that the tests serve: real text where it is there, generated documents elsewhere."""
import glob
import os
import random
from array import array

import megatron

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REAL = os.path.join(os.path.dirname(ROOT), "shared", "data", "megatron")


class Corpus:
    """Sources by name, and what a configuration says of them."""

    def __init__(self, patterns, weights, vocab_size):
        self.patterns, self.weights, self.vocab_size = patterns, weights, vocab_size
        self.sources = [megatron.Source(name, glob.glob(p)) for name, p in patterns.items()]

    def configuration(self, epochs):
        return [
            {"name": name, "format": "megatron", "paths": [pattern], "weight": weight,
             "epochs": epochs}
            for (name, pattern), weight in zip(self.patterns.items(), self.weights)
        ]

    def source(self, name):
        return next(source for source in self.sources if source.name == name)


def real():
    """Prose and code in GPT-2 tokens, or None where they are not."""
    patterns = {name: os.path.join(REAL, name + "-*.idx") for name in ("prose", "code")}
    if not all(glob.glob(pattern) for pattern in patterns.values()):
        return None
    return Corpus(patterns, [0.7, 0.3], 50257)


def _lengths(rng, documents, longest):
    """Heavy-tailed: most short, a few longer than any window, some of one token, some empty."""
    special = [0, 0, 1, 1, 2, 3, longest, longest - 1]
    body = [min(longest, int(rng.lognormvariate(6.8, 1.6))) for _ in range(documents)]
    lengths = special + body
    rng.shuffle(lengths)
    return [0] + lengths + [0]


def _document(rng, length, dtype):
    """Tokens of one document, as one to three sequences (a document may also hold none)."""
    tokens = array("H")
    tokens.frombytes(rng.randbytes(2 * length))
    if dtype != 8:
        tokens = array(megatron.TYPES[dtype], tokens)
    cuts = sorted(rng.randrange(length + 1) for _ in range(rng.randrange(3)))
    parts = [tokens[a:b] for a, b in zip([0] + cuts, cuts + [length])]
    return parts if length else parts[: rng.randrange(2)]


def generated(folder, documents=1200, longest=60000, seed=20):
    """Two sources in `folder`: u16 shards and, for one shard, i32; every kind of document."""
    rng = random.Random(seed)
    for name, shards in (("heavy", (8, 4, 8)), ("light", (8, 8))):
        for number, dtype in enumerate(shards):
            lengths = _lengths(rng, documents // len(shards), longest)
            megatron.write(os.path.join(folder, f"{name}-{number:02}"),
                           [_document(rng, length, dtype) for length in lengths], dtype)
    patterns = {name: os.path.join(folder, name + "-*.idx") for name in ("heavy", "light")}
    return Corpus(patterns, [0.6, 0.4], 65536)
