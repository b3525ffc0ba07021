"""Two replicas behind one list of endpoints, one of them killed or stopped at a time.

    run_replicas.py [--full] [SEED]     small: 8 kills, 2 stops over 120 steps; full: 100 and 20
                                        over 1000

Half of the ranks know the replicas in the other order. Kills (-9) hit replicas and, one in three,
ranks. A replica that is stopped (SIGSTOP) is alive as far as TCP can tell: only the client's own
deadline notices. The streams must equal those of a run that nobody disturbed; the longest time that
a rank waited for a batch is reported.
"""
import random
import sys

import ranks

import corpora
import harness

KILLS_PAUSE_US = 5000  # of a rank after every micro-batch, so that the run lasts
STOP_S = (1.2, 2.5)  # longer than a client waits


class Replicas:
    """The two daemons; at any time at most one is not at work."""

    def __init__(self, paths, seed):
        self.paths, self.random = paths, random.Random(seed)
        self.daemons = [ranks.LooseDaemon(path) for path in paths]
        self.killed = [0] * len(paths)
        self.stopped = self.clients = 0

    def endpoints(self, n):
        order = self.daemons if n % 2 else self.daemons[::-1]
        return ",".join(daemon.endpoint for daemon in order)

    def _victim(self, team):
        """One that may go: the other answers."""
        victim = self.random.randrange(2)
        other = self.daemons[1 - victim]
        assert team.until(other.answers, ranks.AWAIT_S), "the other replica does not answer"
        return victim

    def kill(self, team, times):
        for n in range(times):
            team.advance(self.random, times - n)
            if self.random.randrange(3) == 0:
                self.random.choice(team.running).kill()
                self.clients += 1
                continue
            victim = self._victim(team)
            self.daemons[victim].kill()
            self.daemons[victim] = ranks.LooseDaemon(self.paths[victim])
            self.killed[victim] += 1

    def stop(self, team, times):
        for n in range(times):
            team.advance(self.random, times - n)
            daemon = self.daemons[self._victim(team)]
            daemon.hold()
            team.rest(self.random.uniform(*STOP_S))
            daemon.go_on()
            self.stopped += 1

    def close(self):
        for daemon in self.daemons:
            if daemon.alive():
                daemon.go_on()
            daemon.kill()


def disturbed(place, paths, expected, seed, name, steps, pause_us, disturb):
    """Trains while `disturb` is at work; (replicas, longest wait in ms, failovers, bytes)."""
    folder, replicas = place.path(name), Replicas(paths, seed)
    try:
        with ranks.Team(replicas.endpoints, steps, folder, pause_us) as team:
            disturb(replicas, team)
            reports = team.finish()
    finally:
        replicas.close()
    ranks.check_reports(reports)
    failovers = sum(report["failovers"] for report in reports)
    assert failovers, "nothing was disturbed"
    ranks.show(f"{name}, over {steps} steps of {len(ranks.RANKS)} ranks, seed {seed}",
               replicas_killed=replicas.killed, replicas_stopped=replicas.stopped,
               clients_killed=replicas.clients, failovers=failovers,
               longest_wait_for_a_batch_ms=max(report["gap_ms"] for report in reports),
               bytes_of_all_streams_the_same=ranks.compare(folder, expected),
               pieces_served_and_planned=ranks.check_documents(folder, paths[0], steps))


def main(kills, stops, steps, stops_pause_us, seed):
    with harness.Workplace() as place:
        corpus, expected = corpora.generated(place.folder.name), place.path("undisturbed")
        ranks.undisturbed(place.write("plain", ranks.configuration(corpus)), steps, expected)
        paths = [place.write(name, ranks.configuration(
            corpus, state={"directory": place.path(name + ".state"), "snapshot_every": 10}))
            for name in ("first", "second")]
        disturbed(place, paths, expected, seed, "kills", steps, KILLS_PAUSE_US,
                  lambda replicas, team: replicas.kill(team, kills))
        disturbed(place, paths, expected, seed, "stops", steps, stops_pause_us,
                  lambda replicas, team: replicas.stop(team, stops))


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if each.isdigit()]
    main(*ranks.size((8, 2, 120, 25000), (100, 20, 1000, 60000)), *(numbers or [1]))
