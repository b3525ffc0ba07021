"""Busiest CP rank over the ideal, for every sharding strategy, measured by bench_cp_sharding.

    cp_sharding.py [WINDOWS]       default 60

Micro-batches are windows of 128K tokens out of the shuffled length file, whose last document is
cut, as in prototypes/cp_model.py: the same windows, so the same figures for per-sequence,
per-document and adaptive. Ideal: sum d^2 / 2 / cp, without tiles; attention only. Times are of one
core. Where a length file is absent, a generated one stands in, and no figure is compared with a
target; where there are not 60 windows, none is compared with the model's.
"""
import json
import os
import random

from figures import DATA, Table, start

import harness
from packing import length_file

WINDOW, MODEL_WINDOWS = 131072, 60
MOST_US = 300  # at cp 8: "a few hundred microseconds" for about 40 pieces

# (length file, cp): (target of hybrid; the model's adaptive; its sketch of hybrid)
ROWS = {
    ("wlbllm", 8): (1.06, 1.127, 1.067), ("wlbllm", 16): (1.12, 1.233, 1.132),
    ("prolong", 8): (1.15, 1.269, 1.174), ("prolong", 16): (1.28, 1.478, 1.320),
}


def windows(path, most):
    """Lengths of the pieces of each window, in the order in which cp_model.py draws them."""
    with open(path, encoding="ascii") as file:
        lengths = [int(line) for line in file]
    random.Random(3).shuffle(lengths)
    found, rest = [], iter(lengths)
    for number in range(1, most + 1):
        window, room = [], WINDOW
        while room:
            length = next(rest, None)
            if length is None:
                return found
            window.append(min(length, room))
            room -= window[-1]
        random.Random(number).shuffle(window)
        found.append(window)
    return found


def measure(microbatches, cp):
    text = "".join(" ".join(map(str, window)) + "\n" for window in microbatches)
    done = harness.run([harness.program("bench_cp_sharding"), str(cp)], input=text.encode())
    assert done.returncode == 0, done.stderr.decode()
    return {row["strategy"]: row for row in map(json.loads, done.stdout.splitlines())}


def report(table, name, cp, found, real, model):
    target, adaptive, sketch = ROWS[name, cp]
    for strategy, row in found.items():
        what = f"{name}, cp {cp}: {strategy}"
        if real and strategy == "hybrid":
            table.at_most(f"{what} (model's sketch {sketch:.3f})", target, row["over_ideal"])
        elif model and strategy == "adaptive":
            table.near(what, adaptive, row["over_ideal"], 0.001)
        else:
            table.row(what, "-", f"{row['over_ideal']:.3f}")
        table.row("  chunks a rank", "-", f"{row['chunks_per_rank']:.1f}")
        if real and strategy == "hybrid" and cp == 8:
            table.at_most("  us a micro-batch, mean", MOST_US, row["mean_us"], "{:.0f}")
        else:
            table.row("  us a micro-batch, mean", "-", f"{row['mean_us']:.0f}")


def main(count=MODEL_WINDOWS):
    table = Table("CP sharding: busiest rank over ideal, S=128K, tile 128")
    with harness.Workplace() as workplace:
        for name in ("wlbllm", "prolong"):
            path = os.path.join(DATA, f"lengths-{name}.txt")
            real = os.path.exists(path)
            microbatches = windows(path if real else length_file(workplace)[0], count)
            for cp in (8, 16):
                report(table, name, cp, measure(microbatches, cp), real,
                       real and count == MODEL_WINDOWS)
    return table.missed


if __name__ == "__main__":
    start(main, quick=(3,))
