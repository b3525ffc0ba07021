"""Ranks that read nothing cost bounded memory and do not slow the others.

    run_stuck.py [--full]       small: 8 deaf peers, 60 steps; full: 32, 400 steps, and a wait of
                                over a minute until the daemon has cut them off

One of eight ranks is stopped (SIGSTOP) for as long as the others train; then again, beside deaf
peers, which ask for all they can get and take nothing. Reported: time of the other ranks against
that of the same ranks alone, memory of the daemon. Asserted: bytes under way stay within twice the
ring; resident memory within ring, bytes under way and an allowance; the others end; so does the
stopped rank when it goes on, with the right stream.
"""
import signal
import time

import zmq

import ranks

import corpora
import harness
from harness import ballast_wire

RING = 8 << 20
ALLOWANCE_KIB = 64 << 10
REQUESTS = 3000  # of each deaf peer
PATIENCE_S = 120  # until the daemon has cut off the deaf: it gives them a minute


class Deaf:
    """Peers that ask without end and never read; TCP holds as little for them as it can."""

    def __init__(self, endpoint, count):
        self.context = zmq.Context()
        self.sockets = [self.context.socket(zmq.DEALER) for _ in range(count)]
        for n, peer in enumerate(self.sockets):
            peer.linger, peer.rcvhwm, peer.rcvbuf, peer.sndhwm = 0, 1, 4096, 0
            peer.connect(endpoint)
            peer.send(ballast_wire.encode("Hello", rank={"pp": n + 1}, client="deaf"))
        for n in range(REQUESTS):
            for peer in self.sockets:
                peer.send(ballast_wire.encode(
                    "GetBatch", request=n, step=n % 50, microbatch=n % 8, cp_rank=n % ranks.CP,
                    parts=ballast_wire.ALL_PARTS, deadline_ms=600000))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.context.destroy()


class Watched:
    """The daemon, and the most that it held."""

    def __init__(self, daemon):
        self.daemon, self.in_flight = daemon, 0

    def look(self):
        cache = self.daemon.status()["cache"]
        self.in_flight = max(self.in_flight, cache["in_flight_bytes"])
        assert cache["in_flight_bytes"] <= 2 * cache["limit_bytes"], cache
        return cache["in_flight_bytes"]

    def seconds(self, team, names):
        """Until those ranks have ended."""
        began = time.monotonic()

        def ended():
            self.look()
            return not [rank for rank in team.running if rank.name in names]

        assert team.until(ended, ranks.AWAIT_S), ("the others do not end", team.said())
        return time.monotonic() - began


def shown_as_deaf(daemon):
    """How many of the deaf `ballastctl ranks --json` shows to hold what they do not take."""
    with ballast_wire.Operator(daemon.serve["admin"]) as operator:
        return sum(rank["client"] == "deaf" and rank["in_flight_bytes"] > 0
                   for rank in operator.admin("ranks"))


def with_one_stopped(watched, steps, folder):
    """The team with its first rank stopped after a few steps."""
    team = ranks.Team(lambda n: watched.daemon.endpoint, steps, folder)
    first = team.ranks[0]
    assert team.until(lambda: first.steps > 2, ranks.AWAIT_S)
    first.process.send_signal(signal.SIGSTOP)
    return team


def let_go_on(team, folder, expected):
    team.ranks[0].process.send_signal(signal.SIGCONT)
    ranks.check_reports(team.finish()[1:])  # the first was stopped in the middle of a call
    return ranks.compare(folder, expected)


def await_landing(watched):
    """Until nothing is under way to the deaf, who are deaf still."""
    end = time.monotonic() + PATIENCE_S
    while watched.look():
        assert time.monotonic() < end, "the deaf are not cut off"
        time.sleep(0.5)


def main(deaf, steps, wait):
    others = ranks.RANKS[1:]
    with harness.Workplace() as place:
        corpus = corpora.generated(place.folder.name)
        path = place.write("job", harness.configuration(
            corpus, window=16384, dp=ranks.DP, cp=ranks.CP, microbatches=ranks.MICROBATCHES,
            serve={"cache_bytes": RING}))
        expected = place.path("undisturbed")
        ranks.undisturbed(path, steps, expected)
        with harness.Daemon(path) as daemon:
            watched = Watched(daemon)
            with ranks.Team(lambda n: daemon.endpoint, steps, place.path("alone"),
                            names=others) as team:
                alone = watched.seconds(team, others)
            before = daemon.resident_kib(peak=True)
            with with_one_stopped(watched, steps, place.path("stopped")) as team:
                one = watched.seconds(team, others)
                same = let_go_on(team, place.path("stopped"), expected)
            with Deaf(daemon.endpoint, deaf), \
                    with_one_stopped(watched, steps, place.path("deaf")) as team:
                many = watched.seconds(team, others)
                shown = shown_as_deaf(daemon)
                assert shown, "the deaf are not to be seen"
                if wait:
                    await_landing(watched)
                same += let_go_on(team, place.path("deaf"), expected)
            peak = daemon.resident_kib(peak=True)
        bound = harness.memory_allowance(ALLOWANCE_KIB + 3 * RING // 1024)
        assert peak < bound, (peak, bound)
        ranks.show(f"a stopped rank, and {deaf} deaf peers beside it, {steps} steps",
                   time_of_the_others_with_one_stopped_over_alone=f"{one / alone:.2f}",
                   time_of_the_others_with_deaf_peers_over_alone=f"{many / alone:.2f}",
                   resident_KiB_before_and_at_most=(before, peak), bound_KiB=bound,
                   most_bytes_under_way=watched.in_flight, ring_bytes=RING,
                   deaf_with_bytes_under_way=shown, the_deaf_were_cut_off=wait,
                   bytes_of_streams_the_same=same)


if __name__ == "__main__":
    main(*ranks.size((8, 60, False), (32, 400, True)))
