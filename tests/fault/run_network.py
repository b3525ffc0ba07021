"""A network that fails between eight ranks and their daemon, without privileges (FaultyProxy).

    run_network.py [--full] [SEED]      small: 120 steps, some 6 s; full: 1200 steps, over 60 s

The daemon is reached by two ways. One of them or both, at random: every piece comes late; nothing
moves; connections are reset, torn in the middle of a message, or refused. No step may be lost, and
no call may hang past its deadline.
"""
import os
import random
import sys
import time

import ranks

import corpora
import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "support", "python"))
from faulty_proxy import FaultyProxy  # noqa: E402

PAUSE_US = 25000
HOLD_S = (0.05, 1.5)


def late(ways, held):
    for way in ways:
        way.delay_s, way.jitter_s = 0.02, 0.05
    held()
    for way in ways:
        way.delay_s = way.jitter_s = 0.0


def stalled(ways, held):
    for way in ways:
        way.stalled = True
    held()
    for way in ways:
        way.stalled = False


def cut(ways, held):
    for way in ways:
        way.refusing = True
        way.cut()
    held()
    for way in ways:
        way.refusing = False


def torn(ways, held):
    for way in ways:
        way.tear()
    held()


FAULTS = (late, stalled, cut, torn)


def disturb(team, ways, seed):
    """Does one after the other until all ranks have ended: {name: times}."""
    rng, done = random.Random(seed), {fault.__name__: 0 for fault in FAULTS}
    # A door that closes before the first answer may be one for other keys: clients say so.
    assert team.until(lambda: all(rank.steps for rank in team.ranks), ranks.AWAIT_S)
    while team.running:
        fault, seconds = rng.choice(FAULTS), rng.uniform(*HOLD_S)
        fault(rng.choice((ways[:1], ways[1:], ways)), lambda: team.rest(seconds))
        done[fault.__name__] += 1
    return done


def main(steps, seed):
    with harness.Workplace() as place:
        path = place.write("job", ranks.configuration(corpora.generated(place.folder.name)))
        here, there = place.path("disturbed"), place.path("undisturbed")
        ranks.undisturbed(path, steps, there)
        with harness.Daemon(path) as daemon:
            port = int(daemon.endpoint.rsplit(":", 1)[1])
            with FaultyProxy(port, 1) as first, FaultyProxy(port, 2) as second:
                ways, began = [first, second], time.monotonic()
                with ranks.Team(
                        lambda n: ",".join(way.endpoint for way in (ways if n % 2 else ways[::-1])),
                        steps, here, PAUSE_US) as team:
                    done = disturb(team, ways, seed)
                    reports = team.finish()
                seconds = time.monotonic() - began
        ranks.check_reports(reports)
        ranks.show(f"a failing network, {steps} steps of {len(ranks.RANKS)} ranks, seed {seed}",
                   seconds=f"{seconds:.1f}", faults=done,
                   failovers=sum(report["failovers"] for report in reports),
                   retries=sum(report["retries"] for report in reports),
                   longest_wait_for_a_batch_ms=max(report["gap_ms"] for report in reports),
                   most_that_a_call_overran_its_deadline_ms=max(
                       report["overrun_ms"] for report in reports),
                   bytes_of_all_streams_the_same=ranks.compare(here, there))


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if each.isdigit()]
    main(*ranks.size((120,), (1200,)), *(numbers or [1]))
