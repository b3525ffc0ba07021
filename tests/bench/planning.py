"""Planning rate and packing time, measured by bench_planning.

    planning.py [STEPS]        default 3000
"""
import json

from figures import Table, start

import harness
from packing import length_file

TARGET_RATE, TARGET_US = 3.0, {4: 100, 64: 1000}


def main(steps=3000):
    with harness.Workplace() as workplace:
        done = harness.run([harness.program("bench_planning"), length_file(workplace)[0],
                            str(steps)])
    assert done.returncode == 0, done.stderr.decode()
    table = Table("planning, one core, source of lengths, wlb 32K 80K and adaptive, S=128K")
    for found in map(json.loads, done.stdout.splitlines()):
        job = f"{found['policy']}, N={found['n']}"
        if found["what"] == "planning":
            what = f"planning, {job}, cp={found['cp']}: million documents/s"
            millions = found["documents_per_second"] / 1e6
            if found["cp"] == 1:
                table.at_least(what, TARGET_RATE, millions, "{:.2f}")
            else:  # sixteen chunks a document to deal and to digest
                table.row(what, "-", f"{millions:.2f}")
        else:
            table.at_most(f"packing a step, {job}: mean, us", TARGET_US[found["n"]],
                          found["mean_us"], "{:.1f}")
            table.row(f"packing a step, {job}: p99, us", "-", f"{found['p99_us']:.1f}")
    return table.missed


if __name__ == "__main__":
    start(main, quick=(50,))
