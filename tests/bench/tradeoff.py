"""Balance against delay: jobs run by bench_balance, and curves along the knob of `adaptive`."""
import json
import math

import figures  # noqa: F401  finds harness

import harness

CROSSOVER = 24576  # B
MAX_DELAY = 256    # so large that it does not bind


def job(lengths, n, window, room, packing, seed=1):
    """A job over a file of lengths; S_max is `room` windows."""
    return {
        "job": "balance", "seed": seed,
        "sources": [{"name": "lengths", "format": "lengths", "paths": [lengths]}],
        "parallel": {"microbatches": n}, "context_window": window,
        "max_sequence_length": int(room * window), "packing": packing,
        "sharding": {"strategy": "per-document"}, "cost": {"crossover_tokens": CROSSOVER},
    }


def wlb(thresholds):
    return {"policy": "wlb", "outlier_thresholds": thresholds}


def adaptive(balance):
    return {"policy": "adaptive", "balance": balance, "max_delay": MAX_DELAY}


def run(jobs, steps):
    """What bench_balance says of each job, a few at a time: a program that runs has a deadline."""
    found = []
    for first in range(0, len(jobs), 16):
        text = "".join(f"{steps} {json.dumps(each)}\n" for each in jobs[first:first + 16])
        done = harness.run([harness.program("bench_balance")], input=text.encode())
        assert done.returncode == 0, done.stderr.decode()
        found += [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(jobs) and all(row["steps"] == steps for row in found)
    return found


class Point:
    """One setting: its delay, and its excess, makespan ratio - 1; `name` says which.

    It has `settled` when its delay agrees with what it holds. Else its queues grow all through the
    run, and the delay is that of what they hold: pieces that were never served count as well.
    """

    def __init__(self, name, rows):
        mean = {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}
        self.name, self.excess, self.delay = name, mean["makespan_ratio"] - 1, mean["delay"]
        self.settled = abs(mean["held"] - self.delay) <= 0.01 + 0.1 * self.delay
        if not self.settled:
            self.delay = max(self.delay, mean["held"])

    def __str__(self):
        return f"{self.name}: {1 + self.excess:.5f} at {self.delay:.3f}"


class Curve:
    """The points of a policy that no other of its points beats in both, by rising delay."""

    def __init__(self, points):
        self.points = []
        for point in sorted(points, key=lambda p: (p.delay, p.excess)):
            if not self.points or point.excess < self.points[-1].excess:
                self.points.append(point)

    def neighbours(self, delay):
        """(the last point of no more delay, the first of more); None where there is none."""
        below = [p for p in self.points if p.delay <= delay]
        above = [p for p in self.points if p.delay > delay]
        return below[-1] if below else None, above[0] if above else None

    def excess_at(self, delay):
        """Least excess at no more than `delay`: log(excess) is linear between two points."""
        below, above = self.neighbours(delay)
        if below is None:
            return math.inf
        if above is None:
            return below.excess
        share = (delay - below.delay) / (above.delay - below.delay)
        return math.exp((1 - share) * math.log(below.excess) + share * math.log(above.excess))
