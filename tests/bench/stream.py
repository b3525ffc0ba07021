"""Streaming over loopback: ballastd against bare ZeroMQ, and how long `next` takes.

    stream.py [STEPS [ROUNDS [LATENCY_STEPS]]]       default 60 steps, 5 rounds, 40 steps

Rates: dp 2, cp 1, 2 micro-batches of S=128K per replica and step, u16 tokens: frames of about
256 KiB. One round streams STEPS new steps from ballastd, and replays frames of the same sizes and
number from a bare ROUTER; which of the two goes first alternates. Every figure is the median over
rounds of a ratio of bytes/s within one round:
  daemon / bare      ballastd to bare DEALERs that check every XXH3; planning, gathering and
                     checksums run meanwhile
  libballast / bare  ballastd to libballast, which also checks tables and assembles tokens, labels
                     and positions as int32: 12 bytes written for 2 received
Latency: 64 ranks (dp 8, cp 8), each a thread that pauses 20 ms between calls, as a trainer
computes; time inside ballast_next, the first calls left out.
"""
import json
import statistics
import subprocess

from figures import Table, start

import corpora
import harness

TARGET_RATIO, TARGET_P99_US = 0.85, 1000
PAUSE_US = 20000


def bench(*arguments):
    done = harness.run([harness.program("bench_stream"), *map(str, arguments)])
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def rate(result):
    return result["bytes"] / result["seconds"]


class BareServer:
    """bench_stream bare-server, for as long as the block runs."""

    def __init__(self, sizes):
        self.process = subprocess.Popen(
            [harness.program("bench_stream"), "bare-server", sizes], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self.process.stdout.readline().strip()

    def __exit__(self, *unused):
        self.process.stdin.close()
        assert self.process.wait(timeout=harness.DEADLINE_S) == 0


def one_round(endpoint, sizes, first, steps, bare_first):
    """Rates of (daemon to DEALER, libballast, bare), all of STEPS steps."""
    def bare():
        with BareServer(sizes) as bare_endpoint:
            return bench("bare", bare_endpoint, sizes)

    before = bare() if bare_first else None
    raw = bench("raw", endpoint, first, steps, sizes + ".new")
    client = bench("ballast", endpoint, first + steps, steps)
    after = before or bare()
    assert raw["messages"] == client["messages"] == after["messages"]
    return rate(raw), rate(client), rate(after)


def measure_rates(table, corpus, steps, rounds):
    config = harness.configuration(corpus, window=131072, dp=2, microbatches=2, cp=1)
    with harness.Workplace() as place, harness.Daemon(place.write("job", config)) as daemon:
        sizes = place.path("sizes")
        bench("raw", daemon.endpoint, 0, steps, sizes)
        results = [one_round(daemon.endpoint, sizes, (1 + 2 * i) * steps, steps, i % 2 == 0)
                   for i in range(rounds)]
    for name, column in (("bare ZeroMQ", 2), ("daemon", 0), ("libballast", 1)):
        median = statistics.median(result[column] for result in results)
        table.row(f"{name}, GB/s", "-", f"{median / 1e9:.2f}")
    table.at_least("daemon / bare, checksums on", TARGET_RATIO,
                   statistics.median(raw / bare for raw, _, bare in results))
    table.at_least("libballast / bare, checksums on", TARGET_RATIO,
                   statistics.median(client / bare for _, client, bare in results))


def measure_latency(table, corpus, steps):
    config = harness.configuration(corpus, window=131072, dp=8, microbatches=2, cp=8)
    with harness.Workplace() as place, harness.Daemon(place.write("job", config)) as daemon:
        found = bench("latency", daemon.endpoint, 0, steps, PAUSE_US)
    table.row("next, prefetched, 64 ranks: p50, us", "-", f"{found['p50_us']:.0f}")
    table.at_most("next, prefetched, 64 ranks: p99, us", TARGET_P99_US, found["p99_us"], "{:.0f}")


def main(steps=60, rounds=5, latency_steps=40):
    table = Table("streaming over loopback")
    with harness.Workplace() as place:
        corpus = corpora.real() or corpora.generated(place.folder.name)
        measure_rates(table, corpus, steps, rounds)
        measure_latency(table, corpus, latency_steps)
    return table.missed


if __name__ == "__main__":
    start(main, quick=(3, 1, 6))
