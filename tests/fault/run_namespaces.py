"""The same ranks and daemon in two network namespaces, joined by a pair of virtual cables.

    run_namespaces.py [--full] [SEED]   small: 120 steps, some 6 s; full: 1200 steps, over 60 s

Packets get lost, late where the kernel has netem, and the cable is cut for a while, at random. Loss
is netem's or, without it, of a rule of nftables. No step may be lost, and no call may hang past its
deadline. Exit status 77, with the reason, where namespaces are not permitted or neither is there.
"""
import contextlib
import os
import random
import subprocess
import sys
import time

import ranks

import corpora
import harness

PAUSE_US = 25000
HOLD_S = (0.1, 3.0)
LOSS_PERCENT = (1, 5, 20)
DAEMON_ADDRESS, RANKS_ADDRESS = "10.213.77.1", "10.213.77.2"


class Skip(Exception):
    """This machine does not permit it."""


def run(*command, text=""):
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        raise Skip(f"{' '.join(command)}: {done.stderr.decode().strip()}")


class Network:
    """Two namespaces and the cable between them; gone at the end of the block."""

    def __init__(self):
        self.daemon, self.ranks = f"blst-{os.getpid()}-d", f"blst-{os.getpid()}-r"
        self.cable = (f"bd{os.getpid() % 100000}", f"br{os.getpid() % 100000}")
        self.spaces, self.netem = [], False

    def inside(self, space):
        return ["ip", "netns", "exec", space]

    def __enter__(self):
        try:
            self._make()
        except FileNotFoundError as missing:
            self.__exit__()
            raise Skip(f"{missing.filename} is not installed") from None
        except Skip:
            self.__exit__()
            raise
        return self

    def _make(self):
        for space in (self.daemon, self.ranks):
            run("ip", "netns", "add", space)
            self.spaces.append(space)
        run("ip", "link", "add", self.cable[0], "type", "veth", "peer", "name", self.cable[1])
        for space, end, address in ((self.daemon, self.cable[0], DAEMON_ADDRESS),
                                    (self.ranks, self.cable[1], RANKS_ADDRESS)):
            run("ip", "link", "set", end, "netns", space)
            run("ip", "-n", space, "address", "add", f"{address}/24", "dev", end)
            run("ip", "-n", space, "link", "set", end, "up")
        with contextlib.suppress(Skip):
            self._netem("delay", "0ms")
            self.netem = True
        if not self.netem:
            self._drop(0)

    def __exit__(self, *unused):
        for space in self.spaces:  # and the cable with them
            subprocess.run(["ip", "netns", "delete", space], check=False)

    def _netem(self, *options):
        run("tc", "-n", self.ranks, "qdisc", "replace", "dev", self.cable[1], "root", "netem",
            *options)

    def _drop(self, percent):
        rule = f"numgen random mod 100 < {percent} drop;" if percent else ""
        run(*self.inside(self.ranks), "nft", "-f", "-", text=(
            "add table inet faults\ndelete table inet faults\ntable inet faults { chain in "
            f"{{ type filter hook input priority 0; {rule} }}; }}\n"))

    def lose(self, percent):
        if self.netem:
            self._netem("loss", f"{percent}%", "delay", "20ms", "20ms")
        else:
            self._drop(percent)

    def heal(self):
        if self.netem:
            self._netem("delay", "0ms")
        else:
            self._drop(0)

    def cut(self, down):
        run("ip", "-n", self.daemon, "link", "set", self.cable[0], "down" if down else "up")


def disturb(team, network, seed):
    """One after the other, with pauses, until all ranks have ended: {what: times}."""
    rng, done = random.Random(seed), {}
    while team.running:
        percent = rng.choice((None, *LOSS_PERCENT))
        if percent is None:
            network.cut(True)
        else:
            network.lose(percent)
        team.rest(rng.uniform(*HOLD_S))
        network.cut(False)
        network.heal()
        what = "cut" if percent is None else f"loss of {percent} %"
        done[what] = done.get(what, 0) + 1
        team.rest(rng.uniform(*HOLD_S) / 2)
    return done


def train(network, place, config, steps, folder, disturbed):
    """Trains over the network: (reports, what `disturbed` says, seconds)."""
    path = place.write("far", {**config, "access": {"allow_plaintext": True}, "serve": {
        "endpoint": f"tcp://{DAEMON_ADDRESS}:5755"}})
    daemon = ranks.LooseDaemon(path, prefix=network.inside(network.daemon))
    began = time.monotonic()
    try:
        with ranks.Team(lambda n: daemon.endpoint, steps, folder, PAUSE_US,
                        network.inside(network.ranks)) as team:
            done = disturbed(team)
            reports = team.finish()
    finally:
        daemon.kill()
    return reports, done, time.monotonic() - began


def main(steps, seed):
    with Network() as network, harness.Workplace() as place:
        config = ranks.configuration(corpora.generated(place.folder.name))
        here, there = place.path("disturbed"), place.path("undisturbed")
        ranks.undisturbed(place.write("near", config), steps, there)
        reports, done, seconds = train(network, place, config, steps, here,
                                       lambda team: disturb(team, network, seed))
        ranks.check_reports(reports)
        ranks.show(f"faults between namespaces, {steps} steps of {len(ranks.RANKS)} ranks, "
                   f"seed {seed}",
                   loss_and_delay_by="netem" if network.netem else "nftables, loss alone",
                   seconds=f"{seconds:.1f}", faults=done,
                   retries=sum(report["retries"] for report in reports),
                   longest_wait_for_a_batch_ms=max(report["gap_ms"] for report in reports),
                   most_that_a_call_overran_its_deadline_ms=max(
                       report["overrun_ms"] for report in reports),
                   bytes_of_all_streams_the_same=ranks.compare(here, there))


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if each.isdigit()]
    try:
        main(*ranks.size((120,), (1200,)), *(numbers or [1]))
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
