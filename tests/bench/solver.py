"""`fixed-solver` against greedy and the paper, `outlier_thresholds: auto` against fixed ones.

    solver.py [STEPS [SEEDS]]        default 400 steps, for each of 4 seeds

On data/lengths-wlbllm.txt, N=4, S=128K, W = d + d^2/B with B=24576, windows of 1, 2 and 4 global
batches: imbalance (max / mean workload of a step, mean over steps), the gap that the solver reports
(largest work of a window over what is proven, mean over windows), processor time a global batch
less that of greedy.
Then thresholds: `auto` chooses on the first seed, and is scored on the others, as are fixed
settings, by its own rule, makespan ratio - 1 + delay / 10; on both length files.
Where the length files are absent a generated one stands in, for which there is no target; without
GLPK in the build the solver is left out.
"""
import json
import os
import random
import resource

from figures import DATA, Table, start

import harness

WINDOW = 131072
PAPER = {1: (1.41, 1.40, 467), 2: (1.22, 1.18, 1488), 4: (1.11, 1.09, 25313)}  # greedy, solver, ms
SETTINGS = ([32768], [32768, 81920], [16384, 49152, 98304], [16384], [65536], [49152, 98304])
DELAY_WEIGHT = 0.1
NEAR = 0.01  # of the best setting's score


def job(lengths, packing, room, seed):
    return {
        "job": "solver", "seed": seed,
        "sources": [{"name": "lengths", "format": "lengths", "paths": [lengths]}],
        "parallel": {"microbatches": 4}, "context_window": WINDOW,
        "max_sequence_length": room * WINDOW, "packing": packing,
        "sharding": {"strategy": "per-document"}, "cost": {"crossover_tokens": 24576},
    }


def length_file(workplace):
    """(path, is it the real one)."""
    path = os.path.join(DATA, "lengths-wlbllm.txt")
    if os.path.exists(path):
        return path, True
    rng, path = random.Random(7), workplace.path("lengths.txt")
    with open(path, "w", encoding="ascii") as file:
        for _ in range(50000):
            file.write(f"{min(WINDOW, 1 + int(rng.lognormvariate(8, 1.1)))}\n")
    return path, False


def summary(workplace, lengths, packing, room, seed, steps):
    """(what `ballastctl plan --summary --json` says, seconds of processor time)."""
    config = workplace.write(f"seed{seed}", job(lengths, packing, room, seed))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    told = json.loads(harness.ctl("plan", "--config", config, "--steps", steps, "--summary",
                                  "--json"))
    return told, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def has_solver(workplace, lengths):
    config = workplace.write("probe", job(lengths, {"policy": "fixed-solver"}, 1, 1))
    return harness.run([harness.program("ballastctl"), "plan", "--config", config, "--steps", "1",
                        "--summary"]).returncode == 0


def compare_solver(table, workplace, lengths, real, steps, seeds):
    for window, (paper_greedy, paper_solver, paper_ms) in PAPER.items():
        imbalance, seconds, gaps = {}, {}, []
        for policy in ("fixed-greedy", "fixed-solver"):
            packing = {"policy": policy, "window": window}
            runs = [summary(workplace, lengths, packing, 1, seed, steps)
                    for seed in range(1, seeds + 1)]
            imbalance[policy] = sum(told["imbalance"]["mean"] for told, _ in runs) / seeds
            seconds[policy] = sum(took for _, took in runs) / seeds
            gaps += [told["packing"]["gap_mean"] for told, _ in runs if "packing" in told]
        greedy, solver = imbalance["fixed-greedy"], imbalance["fixed-solver"]
        table.row(f"fixed-greedy {window}: imbalance", f"paper {paper_greedy}", f"{greedy:.4f}")
        table.row(f"fixed-solver {window}: imbalance, below greedy", f"paper {paper_solver}",
                  f"{solver:.4f}", solver < greedy if real else None)
        table.row(f"fixed-solver {window}: gap", "-", f"{sum(gaps) / len(gaps):.5f}")
        spent = (seconds["fixed-solver"] - seconds["fixed-greedy"]) * 1000 / steps
        table.row(f"fixed-solver {window}: ms a global batch", f"paper {paper_ms}", f"{spent:.1f}")


def score(workplace, lengths, thresholds, seeds, steps):
    """By the rule of `auto`, mean over the seeds."""
    total = 0
    for seed in seeds:
        told, _ = summary(workplace, lengths, {"outlier_thresholds": thresholds}, 2, seed, steps)
        total += told["makespan_ratio"] - 1 + DELAY_WEIGHT * told["delay"]["mean"]
    return total / len(seeds)


def compare_thresholds(table, workplace, lengths, name, steps, seeds):
    told, _ = summary(workplace, lengths, {"outlier_thresholds": "auto"}, 2, 1, 1)
    chosen = told["outlier_thresholds"]["candidates"][0]["thresholds"]
    others = range(2, seeds + 2)
    best = min(SETTINGS, key=lambda setting: score(workplace, lengths, setting, others, steps))
    least = score(workplace, lengths, best, others, steps)
    found = score(workplace, lengths, chosen, others, steps)
    table.row(f"{name}: best fixed setting {best}", "-", f"{least:.4f}")
    table.row(f"{name}: auto {chosen}", f"<= {least + NEAR:.4f}", f"{found:.4f}",
              found <= least + NEAR if name.startswith("lengths-") else None)


def main(steps=400, seeds=4):
    table = Table(f"solver and thresholds: N=4, S={WINDOW}, {seeds} x {steps} steps")
    with harness.Workplace() as workplace:
        lengths, real = length_file(workplace)
        if has_solver(workplace, lengths):
            compare_solver(table, workplace, lengths, real, steps, seeds)
        compare_thresholds(table, workplace, lengths, os.path.basename(lengths), steps, seeds)
        if real:
            other = "lengths-prolong.txt"
            compare_thresholds(table, workplace, os.path.join(DATA, other), other, steps, seeds)
    return table.missed


if __name__ == "__main__":
    start(main, quick=(16, 1))
