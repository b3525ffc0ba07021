"""Streaming over loopback: ballastd against bare ZeroMQ, and how long `next` takes.

    stream.py [STEPS [ROUNDS [LATENCY_STEPS]]]       default 200 steps, 7 rounds, 40 steps

Rates: dp 2, cp 1, 2 micro-batches of S=128K per replica and step, u16 tokens: frames of about
256 KiB, two clients with 4 requests in flight each. One round streams STEPS steps in each way, and
replays frames of the same sizes and number from a bare ROUTER to bare DEALERs, before or after in
turn. Every ratio is the median over rounds of bytes/s over those of the bare run of its round:
  daemon, new         ballastd to bare DEALERs that check every XXH3, of steps not asked for before:
                      planning, gathering and checksums included
  daemon, ring        the same steps again, which the ring still holds: serving alone
  libballast, new     ballastd to libballast, which also checks tables and assembles tokens, labels
                      and positions as int32: 12 bytes written for 2 received
  libballast, ring    the same from the ring
All programs share the machine: with fewer cores than busy threads (two gather workers, loop,
ZeroMQ's threads, two clients), a ratio is one of processor time.
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
RING_BYTES = 320 << 20  # holds the 200 steps that are streamed again


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


# How a round streams, in order: name, mode of bench_stream, which of the round's steps.
WAYS = (("daemon, new", "raw", 0), ("daemon, ring", "raw", 0),
        ("libballast, new", "ballast", 1), ("libballast, ring", "ballast", 1))


def bare_rate(sizes):
    with BareServer(sizes) as endpoint:
        return rate(bench("bare", endpoint, sizes))


def one_round(endpoint, sizes, first, steps, bare_first):
    """{way: bytes/s}, of 2 x STEPS steps from `first` on, each streamed twice."""
    rates = {"bare": bare_rate(sizes)} if bare_first else {}
    for name, mode, part in WAYS:
        extra = [sizes + ".unused"] if mode == "raw" else []
        rates[name] = rate(bench(mode, endpoint, first + part * steps, steps, *extra))
    return rates if bare_first else {**rates, "bare": bare_rate(sizes)}


def measure_rates(table, corpus, steps, rounds):
    config = harness.configuration(corpus, window=131072, dp=2, microbatches=2, cp=1,
                                   serve={"cache_bytes": RING_BYTES})
    with harness.Workplace() as place, harness.Daemon(place.write("job", config)) as daemon:
        sizes = place.path("sizes")
        bench("raw", daemon.endpoint, 0, steps, sizes)
        results = [one_round(daemon.endpoint, sizes, (1 + 2 * i) * steps, steps, i % 2 == 0)
                   for i in range(rounds)]
    bare = statistics.median(result["bare"] for result in results)
    table.row("bare ZeroMQ, GB/s", "-", f"{bare / 1e9:.2f}")
    for name, _, _ in WAYS:
        table.at_least(f"{name} / bare, checksums on", TARGET_RATIO,
                       statistics.median(result[name] / result["bare"] for result in results))


def measure_latency(table, corpus, steps):
    config = harness.configuration(corpus, window=131072, dp=8, microbatches=2, cp=8)
    with harness.Workplace() as place, harness.Daemon(place.write("job", config)) as daemon:
        found = bench("latency", daemon.endpoint, 0, steps, PAUSE_US)
    table.row("next, prefetched, 64 ranks: p50, us", "-", f"{found['p50_us']:.0f}")
    table.at_most("next, prefetched, 64 ranks: p99, us", TARGET_P99_US, found["p99_us"], "{:.0f}")


def main(steps=200, rounds=7, latency_steps=40):
    table = Table("streaming over loopback")
    with harness.Workplace() as place:
        corpus = corpora.real() or corpora.generated(place.folder.name)
        measure_rates(table, corpus, steps, rounds)
        measure_latency(table, corpus, latency_steps)
    return table.missed


if __name__ == "__main__":
    start(main, quick=(3, 1, 6))
