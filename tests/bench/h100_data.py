"""The latencies of H100 that the DistCA project published, as the two files of facts hold them.

h100-attention-per-document.csv: L, cp, tp, duration_per_doc. One causal forward pass over one
document of L tokens on one of cp ranks, in ms, launch included; 64 query and 4 key heads of 128
over tp GPUs, bf16, FlashAttention. A rank's L / cp queries meet L (1 + 1 / cp) / 2 keys, which is
its even share.

h100-linear.tsv: ctx_length, tp, cp, and five columns of ms: one forward pass over the rest of a
layer, collectives of tp included, ctx_length tokens over cp ranks. The shapes are not named; GEMM
rates fit hidden 4096, 8 of 32 heads for keys, a plain MLP of 14336 (634, 759 and 631 TFLOP/s at
tp 1).
"""
import csv
import os
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "data")
ATTENTION = os.path.join(DATA, "h100-attention-per-document.csv")
LINEAR = os.path.join(DATA, "h100-linear.tsv")
HEADS, HEAD_DIM = 64, 128
HIDDEN, KEY_WIDTH, FFN = 4096, 1024, 14336


def rows_of(path, delimiter):
    try:
        with open(path, encoding="ascii", newline="") as file:
            return list(csv.DictReader(file, delimiter=delimiter))
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}: name the file with an option")


def attention(path=ATTENTION):
    """[(tp, cp, tokens, microseconds)], sorted."""
    return sorted((int(row["tp"]), int(row["cp"]), int(row["L"]),
                   1000 * float(row["duration_per_doc"])) for row in rows_of(path, ","))


def linear(path=LINEAR):
    """[(tp, cp, tokens, microseconds)], sorted; the five columns summed up."""
    return sorted((int(row["tp"]), int(row["cp"]), int(row["ctx_length"]),
                   1000 * sum(float(value) for value in list(row.values())[3:]))
                  for row in rows_of(path, "\t"))
