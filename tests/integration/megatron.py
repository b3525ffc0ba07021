"""Megatron .bin/.idx pairs, read and written with struct and mmap alone.

Independent of the daemon: what the tests hold its answers against.
"""
import mmap
import struct
from array import array

MAGIC = b"MMIDIDX\0\0"
HEADER = struct.Struct("<9sQBQQ")
# dtype code -> array type code
TYPES = {1: "B", 2: "b", 3: "h", 4: "i", 5: "q", 8: "H"}


def _map(path):
    with open(path, "rb") as file:
        file.seek(0, 2)
        if file.tell() == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Shard:
    """One open pair; documents are numbered from 0, empty ones included."""

    def __init__(self, index_path):
        index = _map(index_path)
        magic, version, dtype, sequences, pointers = HEADER.unpack_from(index, 0)
        assert magic == MAGIC and version == 1, index_path
        at = HEADER.size
        lengths = struct.unpack_from(f"<{sequences}i", index, at)
        offsets = struct.unpack_from(f"<{sequences}q", index, at + 4 * sequences)
        documents = struct.unpack_from(f"<{pointers}q", index, at + 12 * sequences)
        self.type = TYPES[dtype]
        self.width = array(self.type).itemsize
        self.tokens = _map(index_path[: -len(".idx")] + ".bin")
        ends = [0]
        for length, offset in zip(lengths, offsets):
            assert offset == ends[-1] * self.width, index_path
            ends.append(ends[-1] + length)
        self.first_token = [ends[sequence] for sequence in documents]

    def __len__(self):
        return len(self.first_token) - 1

    def length(self, document):
        return self.first_token[document + 1] - self.first_token[document]

    def read(self, document, offset, count):
        """`count` tokens of a document from `offset` on, as an array of the shard's own type."""
        start = (self.first_token[document] + offset) * self.width
        tokens = array(self.type)
        tokens.frombytes(self.tokens[start : start + count * self.width])
        return tokens


class Source:
    """Several shards in order of name; documents are numbered over all of them."""

    def __init__(self, name, index_paths):
        self.name = name
        self.shards = [Shard(path) for path in sorted(index_paths)]
        self.place = [(s, d) for s, shard in enumerate(self.shards) for d in range(len(shard))]
        self.lengths = [self.shards[s].length(d) for s, d in self.place]

    def read(self, document, offset, count):
        shard, local = self.place[document]
        return self.shards[shard].read(local, offset, count)


def write(prefix, documents, dtype):
    """Writes PREFIX.bin and PREFIX.idx; a document is a list of sequences, a sequence an array."""
    lengths, offsets, starts, total = [], [], [0], 0
    width = array(TYPES[dtype]).itemsize
    with open(prefix + ".bin", "wb") as file:
        for sequences in documents:
            for sequence in sequences:
                lengths.append(len(sequence))
                offsets.append(total * width)
                total += len(sequence)
                file.write(array(TYPES[dtype], sequence).tobytes())
            starts.append(len(lengths))
    with open(prefix + ".idx", "wb") as file:
        file.write(HEADER.pack(MAGIC, 1, dtype, len(lengths), len(starts)))
        file.write(struct.pack(f"<{len(lengths)}i", *lengths))
        file.write(struct.pack(f"<{len(offsets)}q", *offsets))
        file.write(struct.pack(f"<{len(starts)}q", *starts))
