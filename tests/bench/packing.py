"""Balance and delay of the packing policies, against the figures of PAPER.md's model.

    packing.py [STEPS]        default 400

On data/lengths-wlbllm.txt, N=4, S=128K, W = d + d^2/B with B=24576. For each policy:
  imbalance       max / mean workload of a step, mean over the steps
  makespan ratio  sum of the maxima / sum of the means
  delay           step served - step arrived, token-weighted mean
computed here from the plan's JSON, and checked against `ballastctl plan --summary`.

The figures of prototypes/packing_model.py belong to one shuffle; another one moves them by up to
0.02. So the length file is written anew, each length in the place to which Ballast's own shuffle
will go for it, and every policy gets the model's very stream. As there, `wlb` warms up for 10 steps
that count nowhere. `plain` and `fixed-greedy` have no delay in the model: it leaves out of account
that pieces wait for the rest of their window.
Where the length file is absent, a generated one stands in and only the order of rows is checked.
"""
import json
import os
import random

from figures import DATA, Table, start

import harness

N, WINDOW, CROSSOVER, WARM_UP = 4, 131072, 24576, 10
LENGTHS = os.path.join(DATA, "lengths-wlbllm.txt")

# name: (packing, S_max / S, imbalance and makespan ratio and delay of the model)
POLICIES = {
    "plain": ({"policy": "plain"}, 1, (1.471, 1.535, None)),
    "fixed-greedy 1": ({"policy": "fixed-greedy", "window": 1}, 1, (1.421, 1.487, None)),
    "fixed-greedy 2": ({"policy": "fixed-greedy", "window": 2}, 1, (1.255, 1.329, None)),
    "fixed-greedy 4": ({"policy": "fixed-greedy", "window": 4}, 1, (1.140, 1.199, None)),
    "fixed-greedy 8": ({"policy": "fixed-greedy", "window": 8}, 1, (1.071, 1.109, None)),
    "wlb 32K": ({"outlier_thresholds": [32768]}, 2, (1.090, 1.176, 0.22)),
    "wlb 32K 80K": ({"outlier_thresholds": [32768, 81920]}, 2, (1.016, 1.036, 0.46)),
    "wlb 16K 48K 96K": ({"outlier_thresholds": [16384, 49152, 98304]}, 2, (1.011, 1.022, 0.63)),
    "wlb 32K 80K, S_max 1.5S": ({"outlier_thresholds": [32768, 81920]}, 1.5, (1.038, 1.078, 0.47)),
}
TOLERANCE = 0.01
WORST_FIRST = ["plain", "fixed-greedy 1", "fixed-greedy 2", "fixed-greedy 4", "fixed-greedy 8",
               "wlb 32K 80K"]


def length_file(workplace):
    """(path of the length file, or of one that stands in for it; is it the real one)."""
    if os.path.exists(LENGTHS):
        return LENGTHS, True
    rng, path = random.Random(7), workplace.path("lengths.txt")
    with open(path, "w", encoding="ascii") as file:
        for _ in range(100000):
            file.write(f"{min(WINDOW, 1 + int(rng.lognormvariate(8, 1.1)))}\n")
    return path, False


def job(lengths, packing, room):
    return {
        "job": "packing", "seed": 1, "vocab_size": 50257,
        "sources": [{"name": "lengths", "format": "lengths", "paths": [lengths], "weight": 1,
                     "epochs": 1}],
        "parallel": {"dp": 1, "pp": 4, "cp": 1, "tp": 8, "microbatches": N},
        "context_window": WINDOW, "max_sequence_length": int(room * WINDOW), "last_step": "serve",
        "packing": {"policy": "wlb", **packing}, "sharding": {"strategy": "per-document"},
        "cost": {"crossover_tokens": CROSSOVER},
    }


def shuffle_of(workplace, documents):
    """Documents in stream order: the shuffle knows how many there are, not how long."""
    path = workplace.path("ones.txt")
    with open(path, "w", encoding="ascii") as file:
        file.write("1\n" * documents)
    step, = harness.plan(workplace.write("ones", job(path, {"policy": "plain"}, 1)), 1)
    return [p["document"] for mb in step["microbatches"] for p in mb["pieces"]]


def in_the_models_order(workplace, path):
    """A length file from which Ballast draws the stream that the model draws from `path`."""
    with open(path, encoding="ascii") as file:
        stream = [int(line) for line in file]
    random.Random(1).shuffle(stream)
    placed = [0] * len(stream)
    for length, document in zip(stream, shuffle_of(workplace, len(stream)), strict=True):
        placed[document] = length
    result = workplace.path("placed.txt")
    with open(result, "w", encoding="ascii") as file:
        file.writelines(f"{length}\n" for length in placed)
    return result


class Sums:
    """Figures of a run, summed up from plans."""

    def __init__(self):
        self.steps = self.top = self.mean = self.ratio = self.waited = self.tokens = 0

    def add(self, step):
        lengths = [[p["length"] for p in mb["pieces"]] for mb in step["microbatches"]]
        works = [sum(d + d * d / CROSSOVER for d in mb) for mb in lengths]
        self.steps += 1
        self.top += max(works)
        self.mean += sum(works) / N
        self.ratio += max(works) * N / sum(works)
        self.tokens += step["tokens"]
        self.waited += sum((step["step"] - p["arrived"]) * p["length"]
                           for mb in step["microbatches"] for p in mb["pieces"])

    def figures(self):
        return self.ratio / self.steps, self.top / self.mean, self.waited / self.tokens


def check_summary(config, first, steps, figures):
    """`ballastctl plan --summary` says the same of the same steps."""
    told = json.loads(harness.ctl("plan", "--config", config, "--from", first, "--steps", steps,
                                  "--summary", "--json"))
    for found, right in zip((told["imbalance"]["mean"], told["makespan_ratio"],
                             told["delay"]["mean"]), figures):
        assert abs(found - right) < 1e-4, (told, figures)


def measure(workplace, lengths, packing, room, steps):
    config = workplace.write("job", job(lengths, packing, room))
    first = 0 if "policy" in packing else WARM_UP
    plan, sums = harness.plan(config, steps, "--from", first), Sums()
    assert len(plan) == steps
    for step in plan:
        sums.add(step)
    check_summary(config, first, steps, sums.figures())
    return sums.figures()


def main(steps=400):
    table = Table(f"packing: N={N}, S={WINDOW}, B={CROSSOVER}, {steps} steps")
    found = {}
    with harness.Workplace() as workplace:
        path, real = length_file(workplace)
        lengths = in_the_models_order(workplace, path)
        for name, (packing, room, model) in POLICIES.items():
            found[name] = measure(workplace, lengths, packing, room, steps)
            for what, figure, target in zip(("imbalance", "makespan ratio", "delay"), found[name],
                                            model):
                if real and target is not None:
                    table.near(f"{name}: {what}", target, figure, TOLERANCE)
                else:
                    table.row(f"{name}: {what}", "-", f"{figure:.4f}")
    rows = [found[name][0] for name in WORST_FIRST]
    table.row("order of rows", "as the paper's", "", rows == sorted(rows, reverse=True))
    return table.missed


if __name__ == "__main__":
    start(main, quick=(30,))
