"""`adaptive` at the delays for which DESIGN section 14 states a target.

    adaptive.py [SHUFFLES [STEPS]]       default 4 shuffles of 2000 steps, 500 at N=64

On data/lengths-wlbllm.txt, S=128K, S_max=2S, W = d + d^2/B with B=24576. `packing.balance` is
swept; each point is the mean over the shuffles, of makespan ratio and of delay. At the delay of a
target log(makespan ratio - 1) is interpolated between the two neighbouring points, which are
printed. Where the length file is absent a generated one stands in, for which there is no target.
"""
from figures import Table, start

import harness
from packing import length_file
from tradeoff import Curve, Point, adaptive, job, run

WINDOW, ROOM = 131072, 2
BALANCES = [step / 20 for step in range(21)]
# N: ((delay, most makespan ratio, the sketch's), ...)
TARGETS = {4: ((0.38, 1.006, 1.0075), (0.44, 1.003, 1.0041), (0.48, 1.0012, 1.0016)),
           64: ((0.47, 1.012, 1.0152), (0.52, 1.0025, 1.0030))}
LARGE_STEP = 4  # steps of N=64 are fewer


def curve(lengths, n, shuffles, steps):
    jobs = [job(lengths, n, WINDOW, ROOM, adaptive(balance), seed)
            for balance in BALANCES for seed in range(1, shuffles + 1)]
    rows = run(jobs, steps)
    return Curve(Point(f"balance {balance:g}", rows[i * shuffles:(i + 1) * shuffles])
                 for i, balance in enumerate(BALANCES))


def report(table, n, found, real):
    for delay, most, sketch in TARGETS[n]:
        below, above = found.neighbours(delay)
        table.row(f"  {below}", "-", "")
        what, ratio = f"N={n}: makespan ratio at delay {delay}", 1 + found.excess_at(delay)
        if real:
            table.at_most(f"{what} (sketch {sketch})", most, ratio, "{:.5f}")
        else:
            table.row(what, "-", f"{ratio:.5f}")
        table.row(f"  {above or 'no balance has more delay'}", "-", "")


def main(shuffles=4, steps=2000):
    table = Table(f"adaptive: S={WINDOW}, S_max={ROOM}S, {shuffles} shuffles of {steps} steps")
    with harness.Workplace() as workplace:
        lengths, real = length_file(workplace)
        for n in TARGETS:
            counted = steps if n == 4 else steps // LARGE_STEP
            report(table, n, curve(lengths, n, shuffles, counted), real)
    return table.missed


if __name__ == "__main__":
    start(main, quick=(1, 40))
