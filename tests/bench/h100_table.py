#!/usr/bin/env python3
"""Makes a cost table (daemon/cost/table.h) of the published H100 latencies, on standard output.

    tests/bench/h100_table.py --layers 32 --heads 32 > h100.csv
    cost: { table: h100.csv }

- One table holds every tp and cp asked for; the job takes the rows of its own.
- --layers multiplies both latencies. --passes training (the default) counts backward passes as 2.5
  times the forward of attention and twice that of the rest; --passes forward leaves them out.
- --heads: query heads of the model, of 128. The published figures are of 64; a GPU that holds h
  heads of H over tp holds as many as one of 64 over 64 tp / H, whose rows are taken. A tp for which
  there are none (32 heads at tp 8 would need tp 16) is left out, and standard error says so. The
  rest of the layer is that of hidden 4096, whatever --heads is.
- Launches: a varlen kernel is launched once for all documents of a micro-batch, so the latency of
  the shortest documents, nothing but launch, is subtracted from all of the same tp and cp. Lengths
  at which less than half as much is left are left out: noise. --keep-launch keeps both.
"""
import argparse
import sys

import h100_data

PASSES = {"forward": (1, 1), "training": (3.5, 3)}

HEAD = """# ballast cost table 1
# device: NVIDIA H100 SXM
# dtype: bf16
# heads: {heads}
# head_dim: {head_dim}
# kernel: FlashAttention, as published with DistCA
# unit: us
# layers: {layers}, passes: {passes}, launches {launches}
op,tp,cp,q,kv,latency"""


def numbers(text):
    return [int(word) for word in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description="Published H100 latencies as a cost table.")
    parser.add_argument("--attention", default=h100_data.ATTENTION, metavar="CSV")
    parser.add_argument("--linear", default=h100_data.LINEAR, metavar="TSV")
    parser.add_argument("--tp", type=numbers, default=[1, 2, 4, 8], metavar="N,...")
    parser.add_argument("--cp", type=numbers, default=[1, 2, 4, 8], metavar="N,...")
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--heads", type=int, default=h100_data.HEADS)
    parser.add_argument("--passes", choices=PASSES, default="training")
    parser.add_argument("--keep-launch", action="store_true")
    return parser.parse_args()


def attention_points(rows, tp, cp, keep_launch):
    """[(tokens, microseconds)] without launches and without what launches drown; rising."""
    points = [(tokens, us) for row_tp, row_cp, tokens, us in rows if (row_tp, row_cp) == (tp, cp)]
    launch = 0 if keep_launch or not points else min(us for _, us in points)
    points = [(tokens, us - launch) for tokens, us in points if us - launch >= launch / 2]
    rising = []
    for tokens, us in points:
        if not rising or us >= rising[-1][1]:
            rising.append((tokens, us))
    return rising


def main():
    options = arguments()
    scale_attention, scale_linear = (options.layers * passes for passes in PASSES[options.passes])
    attention, linear = h100_data.attention(options.attention), h100_data.linear(options.linear)
    print(HEAD.format(heads=options.heads, head_dim=h100_data.HEAD_DIM, layers=options.layers,
                      passes=options.passes,
                      launches="included" if options.keep_launch else "subtracted"))
    for tp in options.tp:
        measured_tp, odd = divmod(tp * h100_data.HEADS, options.heads)
        for cp in options.cp:
            points = [] if odd else attention_points(attention, measured_tp, cp,
                                                     options.keep_launch)
            rest = [row for row in linear if row[:2] == (tp, cp)]
            if len(points) < 2 or not rest:
                print(f"left out tp {tp} cp {cp}: not published for {options.heads} heads",
                      file=sys.stderr)
                continue
            for tokens, us in points:
                print(f"attention,{tp},{cp},{tokens // cp},{tokens * (cp + 1) // (2 * cp)},"
                      f"{us * scale_attention:.3f}")
            _, _, tokens, us = rest[-1]
            print(f"linear,{tp},{cp},{tokens // cp},0,{us * scale_linear:.3f}")


if __name__ == "__main__":
    main()
