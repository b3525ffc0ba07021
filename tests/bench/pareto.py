"""`adaptive` against `wlb` at equal delay, over length files, N, windows and S_max.

    pareto.py [--details] [--quick]        about ten minutes

In every setting `wlb` runs over 16 lists of thresholds and `adaptive` over its knob, on the same
stream. A point of `wlb` is won when the excess (makespan ratio - 1) of `adaptive` at no more delay,
log(excess) interpolated along the knob, is 8 times smaller (S_max 2S; 3 times for 1.5S), or below
0.001. Points whose queues grow without bound (a delay above 10), or all through the run because
too few of their outliers arrive, are counted apart. Besides the two files of the design the lengths
are generated, from distributions that nobody tuned for, S=128K.
--details prints every point; at N=64 beside the least excess that delay_bound.py proves for large
N, and "lost, target below it" where no policy could win if N were large. N=64 is not yet large.
"""
import concurrent.futures
import functools
import itertools
import math
import os
import random
import sys

from figures import DATA

import delay_bound
import harness
from tradeoff import Curve, Point, adaptive, job, run, wlb

THRESHOLDS = [[number / 16 for number in sixteenths] for sixteenths in (
    (2,), (4,), (6,), (8,), (10,), (12,), (2, 8), (4, 8), (4, 10), (4, 12), (6, 12), (8, 12),
    (2, 6, 12), (4, 8, 12), (1, 4, 10), (4, 10, 14))]
BALANCES = (0, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1)
STEPS = {4: 2000, 16: 800, 64: 300}
WINDOWS, FACTORS = (65536, 131072), {2: 8, 1.5: 3}  # S_max / S: how many times smaller
GOOD_ENOUGH, UNBOUNDED = 0.001, 10
DOCUMENTS, LONGEST = 60000, 1 << 20


def lognormal(median, sigma):
    return lambda rng: rng.lognormvariate(math.log(median), sigma)


def bimodal(rng):
    return rng.lognormvariate(*((math.log(40000), 0.5) if rng.random() < 0.1 else
                                (math.log(1500), 0.5)))


GENERATED = {
    "lognormal 0.8": lognormal(2500, 0.8), "lognormal 1.3": lognormal(2500, 1.3),
    "lognormal 1.8": lognormal(2500, 1.8), "bimodal": bimodal,
    "uniform": lambda rng: rng.uniform(1, 131072),
    "pareto 1.2": lambda rng: 1000 * rng.paretovariate(1.2),
    "pareto 1.6": lambda rng: 1000 * rng.paretovariate(1.6),
}


def length_files(workplace, names, documents):
    """name: path, of those that are there and those generated; the same at every call."""
    paths = {name: os.path.join(DATA, f"lengths-{name}.txt") for name in ("wlbllm", "prolong")}
    found = {name: path for name, path in paths.items() if os.path.exists(path) and name in names}
    for name, draw in GENERATED.items():
        if name not in names:
            continue
        rng, found[name] = random.Random(name), workplace.path(name.replace(" ", "-"))
        with open(found[name], "w", encoding="ascii") as file:
            file.writelines(f"{min(LONGEST, max(1, int(draw(rng))))}\n" for _ in range(documents))
    return found


class Setting:
    """A length file, N, S and S_max: its points of `wlb`, and the curve of `adaptive`."""

    def __init__(self, name, path, n, window, room):
        self.name, self.path, self.n, self.window, self.room = name, path, n, window, room

    def measure(self, thresholds, balances, steps):
        packings = [wlb([int(level * self.window) for level in levels]) for levels in thresholds]
        packings += map(adaptive, balances)
        rows = run([job(self.path, self.n, self.window, self.room, each) for each in packings],
                   steps)
        for row in rows:
            assert row["makespan_ratio"] >= 1 and row["imbalance"] >= 1
            assert row["delay"] <= row["delay_max"]
        names = [" ".join(f"{level:g}" for level in levels) for levels in thresholds]
        points = [Point(name, [row])
                  for name, row in zip(itertools.chain(names, balances), rows, strict=True)]
        self.curve = Curve(points[len(thresholds):])
        baseline = points[:len(thresholds)]
        self.points = [p for p in baseline if p.delay <= UNBOUNDED and p.settled]
        self.apart = len(baseline) - len(self.points)
        return self

    def ours(self, point):
        return self.curve.excess_at(point.delay)

    def won(self, point):
        ours = self.ours(point)
        return ours < GOOD_ENOUGH or ours * FACTORS[self.room] <= point.excess

    def worst(self):
        """The point that is furthest from its target, or nearest to it; None without points."""
        return min(self.points, default=None, key=lambda p: (
            self.won(p), p.excess / max(self.ours(p), 1e-9)))


HEAD = (f"{'lengths':<14} {'N':>3} {'S':>5} {'S_max':>5}  {'won':>7} {'apart':>5}  "
        f"{'worst':>6} {'of':>3}  {'there':<18} {'delay':>6} {'wlb':>8} {'adaptive':>8}  verdict")


def summary(setting):
    won, worst = sum(map(setting.won, setting.points)), setting.worst()
    text = (f"{setting.name:<14} {setting.n:>3} {setting.window // 1024:>4}K {setting.room:>4g}S  "
            f"{won:>3}/{len(setting.points):<3} {setting.apart:>5}  ")
    if worst:
        ours = setting.ours(worst)
        text += (f"{worst.excess / ours:>6.1f} {FACTORS[setting.room]:>3}  {worst.name:<18} "
                 f"{worst.delay:>6.3f} {worst.excess:>8.5f} {ours:>8.5f}  ")
    return text + ("ok" if won == len(setting.points) else "MISSED")


@functools.cache
def bound_of(path, window):
    return delay_bound.Bound(delay_bound.read(path, window), window)


def details(setting):
    bound = bound_of(setting.path, setting.window) if setting.n == 64 else None
    for point in sorted(setting.points, key=lambda p: p.delay):
        ours = setting.ours(point)
        text = (f"    {point.name:<18} delay {point.delay:.3f}  wlb {point.excess:.5f}  "
                f"adaptive {ours:.5f}  {point.excess / ours:6.1f} times")
        target = max(GOOD_ENOUGH, point.excess / FACTORS[setting.room])
        least = bound.least_excess(point.delay) if bound else 0
        text += f"  bound {least:.5f}" if bound else ""
        print(text + ("" if setting.won(point) else "  lost, target below it" if least > target
                      else "  lost"))
    for point in setting.curve.points:
        print(f"    balance {point.name:<10} delay {point.delay:.3f}  adaptive {point.excess:.5f}")


def main(names, sizes, thresholds, balances, steps, documents, verbose=False):
    """Returns how many settings have a point that is not won."""
    print(f"\nadaptive against wlb at equal delay\n{HEAD}")
    missed = won = points = 0
    with harness.Workplace() as workplace, concurrent.futures.ThreadPoolExecutor(2) as pool:
        files = length_files(workplace, names, documents)
        settings = [Setting(name, path, n, window, room) for (name, path), window, room, n
                    in itertools.product(files.items(), WINDOWS, FACTORS, sizes)
                    if name not in GENERATED or window == WINDOWS[-1]]
        for setting in pool.map(lambda s: s.measure(thresholds, balances, steps[s.n]), settings):
            print(summary(setting), flush=True)
            if verbose:
                details(setting)
            here = sum(map(setting.won, setting.points))
            missed += here < len(setting.points)
            won, points = won + here, points + len(setting.points)
    print(f"{won} of {points} points won; {missed} of {len(settings)} settings have others")
    return missed


if __name__ == "__main__":
    VERBOSE = "--details" in sys.argv
    if "--quick" in sys.argv:
        main(("bimodal",), (4, 64), THRESHOLDS[7:9], BALANCES[::5], {4: 10, 64: 3}, 3000, True)
    elif main(("wlbllm", "prolong", *GENERATED), STEPS, THRESHOLDS, BALANCES, STEPS, DOCUMENTS,
              VERBOSE):
        sys.exit("a target was missed")
