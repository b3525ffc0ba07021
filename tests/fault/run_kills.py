"""Daemon and clients are killed (-9) at random moments while eight ranks train.

    run_kills.py [--full] [SEED]        small: 12 kills over 120 steps; full: 100 over 1000

The job has a history: some of its data are skipped. The stream of every rank must equal, byte for
byte, that of a run that nobody disturbed; the pieces served must be those planned; the state
directory must stay below 1 MiB.
"""
import os
import random
import sys
import time

import ranks

import corpora
import harness

STATE_BYTES = 1 << 20
HASTY_PART = 0.6  # of the run, in which it cannot end meanwhile
HASTE_S = 0.3  # some kills come within this time of the one before, before anything is served
PAUSE_US = 5000  # of a rank after every micro-batch: without it all would be over before a kill


class Killer:
    """Kills the daemon or a rank; each comes back at once."""

    def __init__(self, path, state, kills, seed):
        self.path, self.state, self.kills = path, state, kills
        self.random = random.Random(seed)
        self.daemon = ranks.LooseDaemon(path)
        self.daemons = self.clients = self.most_state = 0

    def _wait(self, team, left):
        """For a random amount of progress; or, now and then, for a random time."""
        haste = self.random.random() < 0.25
        if haste and team.progress < HASTY_PART * team.steps * len(ranks.RANKS):
            team.rest(self.random.uniform(0, HASTE_S))
        else:
            team.advance(self.random, left)

    def _kill(self, team):
        if self.random.random() < 0.5:
            self.daemon.kill()
            self.daemon = ranks.LooseDaemon(self.path)
            self.daemons += 1
        else:
            self.random.choice(team.running).kill()
            self.clients += 1
        if os.path.isdir(self.state):
            self.most_state = max(self.most_state, ranks.used(self.state))

    def work(self, team):
        for n in range(self.kills):
            self._wait(team, self.kills - n)
            self._kill(team)


def job_with_history(place, name, corpus):
    """(configuration, state directory) of a job that leaves out what steps 40 to 49 had."""
    state = place.path(name + ".state")
    path = place.write(name, ranks.configuration(
        corpus, state={"directory": state, "snapshot_every": 10}))
    with harness.Daemon(path):
        harness.ctl("skip", "--from", 40, "--to", 49, "--config", path)
    return path, state


def main(kills, steps, seed):
    with harness.Workplace() as place:
        corpus = corpora.generated(place.folder.name)
        here, there = place.path("killed"), place.path("undisturbed")
        ranks.undisturbed(job_with_history(place, "calm", corpus)[0], steps, there)
        path, state = job_with_history(place, "job", corpus)
        killer, began = Killer(path, state, kills, seed), time.monotonic()
        try:
            with ranks.Team(lambda n: killer.daemon.endpoint, steps, here, PAUSE_US) as team:
                killer.work(team)
                reports = team.finish()
            seconds = time.monotonic() - began
            killer.daemon.stop()
        finally:
            killer.daemon.kill()
        ranks.check_reports(reports)
        total = ranks.compare(here, there)
        killer.most_state = max(killer.most_state, ranks.used(state))
        assert killer.most_state < STATE_BYTES, killer.most_state
        pieces = ranks.check_documents(here, path, steps, "--state", state)
        ranks.show(f"{kills} kills over {steps} steps of {len(ranks.RANKS)} ranks, seed {seed}",
                   daemon_killed=killer.daemons, clients_killed=killer.clients,
                   seconds=f"{seconds:.1f}", bytes_of_all_streams_the_same=total,
                   pieces_served_and_planned=pieces,
                   most_bytes_in_the_state_directory=killer.most_state)


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if each.isdigit()]
    main(*ranks.size((12, 120), (100, 1000)), *(numbers or [1]))
