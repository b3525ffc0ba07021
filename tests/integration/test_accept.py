"""A corpus that changes under a job: refused, or accepted and recorded; then the job goes on."""
import os
import random

import pytest

import corpora
import harness
import megatron
from harness import ballast_wire
from served_once import Account
from test_ledger import ask, headers

WRONG_JOB, END = map(ballast_wire.STATUSES.index, ("WRONG_JOB", "END"))
STEPS, EVERY = 40, 20  # with the first corpus; a snapshot lies before step STEPS


class Changing:
    """A job over shards of its own, the second source of which gets one shard more."""

    def __init__(self, workplace):
        self.folder = workplace.path("shards")
        os.mkdir(self.folder)
        self.corpus = corpora.generated(self.folder, documents=300, longest=9000)
        self.state = workplace.path("state")
        self.config = harness.configuration(
            self.corpus, window=4096, dp=2, microbatches=2, epochs=1,
            state={"directory": self.state, "snapshot_every": EVERY})
        self.path = workplace.write("job", self.config)
        self.names = [source["name"] for source in self.config["sources"]]

    def change(self):
        rng = random.Random(7)
        documents = [[[rng.randrange(1 << 16) for _ in range(rng.randrange(1, 3000))]]
                     for _ in range(30)]
        megatron.write(os.path.join(self.folder, "light-02"), documents, 8)
        self.corpus = corpora.Corpus(self.corpus.patterns, self.corpus.weights, 65536)


@pytest.fixture
def job(workplace):
    return Changing(workplace)


def pieces_of(daemon, first, last):
    """{step: (digest, pieces)}, up to END where last is None."""
    found, step = {}, first
    with ballast_wire.Connection(daemon.endpoint, timeout_ms=60000) as rank:
        rank.hello(step=first)
        while last is None or step <= last:
            if last is None and ask(rank, step, parts=0)["status"] == END:
                break
            found[step] = headers(rank, step, 4)
            step += 1
    return found


def train(daemon, first, steps, digest):
    return harness.run([harness.program("train_rank"), "--first-step", str(first), "--digest",
                        digest.hex(), daemon.endpoint, "1", "1", str(steps)])


def served(job):
    """Steps 0 .. STEPS - 1 by a daemon that is killed as soon as it has saved its state."""
    daemon = harness.Daemon(job.path)
    try:
        found = pieces_of(daemon, 0, STEPS - 1)
        while daemon.status()["snapshots"]["last_snapshot_step"] != STEPS:
            pass
        return found
    finally:
        daemon.kill()


def test_a_change_is_refused_then_accepted_and_nothing_else_is_lost(job):
    before = served(job)
    job.change()
    with harness.Daemon(job.path) as daemon:
        assert "corpus light: shards=2 -> shards=3" in daemon.stderr()
        refused = train(daemon, STEPS, 1, before[STEPS - 1][0])
        assert refused.returncode == 1 and b"corpus light" in refused.stderr
    done = harness.run([harness.program("ballastd"), "--config", job.path,
                        "--accept-corpus-change"])
    assert done.returncode == 64 and b"name the step" in done.stderr, "it has snapshots of its own"
    argument = f"--accept-corpus-change={STEPS}"
    with harness.Daemon(job.path, arguments=[argument]) as daemon:
        assert f"change of the corpus accepted from_step={STEPS} " in daemon.stderr()
        assert "sources_begun_anew=1" in daemon.stderr()
        assert daemon.status()["ledger"]["first_step"] == STEPS
        assert train(daemon, STEPS, 2, before[STEPS - 1][0]).returncode == 0
        assert train(daemon, STEPS, 2, before[STEPS - 2][0]).returncode == 1
        with ballast_wire.Connection(daemon.endpoint, timeout_ms=60000) as rank:
            past = ask(rank, STEPS - 1)
            assert past["status"] == WRONG_JOB
            assert f"lies before step {STEPS}" in past["message"]
        after = pieces_of(daemon, STEPS, None)
    check_documents(job, before, after)
    with harness.Daemon(job.path) as again:
        assert pieces_of(again, STEPS, STEPS + 3) == {k: after[k] for k in range(STEPS, STEPS + 4)}
    lines = harness.plan(job.path, 1000, "--state", job.state, "--from", STEPS)
    assert {line["step"]: line["digest"] for line in lines} == {
        step: digest.hex() for step, (digest, _) in after.items()}


def check_documents(job, before, after):
    """Of the source that stayed, all once over both; of the other, all once of what it is now."""
    account = Account(job.corpus, job.names)
    heavy = job.names.index("heavy")
    for _, pieces in before.values():
        account.enter([piece for piece in pieces if piece["source"] == heavy])
    for _, pieces in after.values():
        account.enter(pieces)
    documents, _ = account.check_once()
    assert documents > 300


def test_an_earlier_step_can_be_named(job):
    served(job)
    job.change()
    argument = [f"--accept-corpus-change={EVERY + 3}"]
    with harness.Daemon(job.path, arguments=argument) as daemon:
        assert f"accepted from_step={EVERY} " in daemon.stderr()
    with harness.Daemon(job.path, arguments=argument) as daemon:
        assert "no change of the corpus to accept" in daemon.stderr()


@pytest.mark.parametrize("arguments, change, code, why", [
    (["--accept-corpus-change"], {"seed": 2}, 64, "no snapshot of a job of this configuration"),
    (["--accept-corpus-change"], {"state": {}}, 64, "set state.directory"),
    (["--accept-corpus-change=x"], {}, 64, "expected a step"),
    ([f"--accept-corpus-change={EVERY - 1}"], {}, 64, "no snapshot of the former job"),
])
def test_what_cannot_be_accepted_ends_the_start(job, workplace, arguments, change, code, why):
    served(job)
    job.change()
    path = workplace.write("other", {**job.config, **change})
    done = harness.run([harness.program("ballastd"), "--config", path, *arguments])
    assert done.returncode == code
    assert why in done.stderr.decode()
