"""on_bad_shard: skip, of a token shard that turns bad while the daemon serves it."""
import os
import shutil

import pytest

import harness
from harness import ballast_wire
from served_once import Account
from test_bad_shards import shards  # noqa: F401 (a fixture)

OK, BUSY, END = map(ballast_wire.STATUSES.index, ("OK", "BUSY", "END"))
DP, CP, MICROBATCHES = 2, 2, 2
BAD = "heavy-01"


class Rank(ballast_wire.Connection):
    """One rank of the job, that asks for its micro-batches in order."""

    def __init__(self, endpoint, dp, cp, pp=0, **hello):
        super().__init__(endpoint, dp, cp, timeout_ms=60000)
        self.rank["pp"] = pp
        self.hello(**hello)

    def ask(self, step, slot):
        """A Batch header, and its pieces where there are any."""
        self.request(step, self.rank["dp"] * MICROBATCHES + slot, deadline_ms=60000)
        _, batch, frames = self.receive(120000)
        return batch, ballast_wire.decode_pieces(frames[0]) if batch["status"] == OK else []


class Team:
    """All ranks, in step with one another."""

    def __init__(self, endpoint, **options):
        self.ranks = [Rank(endpoint, dp, cp, **options) for dp in range(DP) for cp in range(CP)]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for rank in self.ranks:
            rank.close()

    def train(self, step):
        """(digest, pieces) of a step, which all ranks ask for until they have it; None at END."""
        digests, pieces = set(), {}
        for slot in range(MICROBATCHES):
            waiting = list(self.ranks)
            while waiting:
                rank = waiting.pop(0)
                batch, rows = rank.ask(step, slot)
                if batch["status"] == END:
                    return None
                if batch["status"] == BUSY:
                    waiting.append(rank)
                    continue
                assert batch["status"] == OK, (step, batch["status"], batch["message"])
                digests.add(batch["digest"])
                pieces[rank.rank["dp"], slot] = rows
        assert len(digests) == 1, "the ranks have different plans"
        return digests.pop(), [row for key in sorted(pieces) for row in pieces[key]]

    def run(self, first, last=10**9):
        """[(digest, pieces)] of those steps, or up to the end."""
        found = []
        while first + len(found) <= last:
            step = self.train(first + len(found))
            if step is None:
                break
            found.append(step)
        return found


@pytest.fixture
def job(shards, workplace):  # noqa: F811
    """(path of the configuration, path of a shard's file)."""
    config, path = shards
    config = {**config, "on_bad_shard": "skip", "serve": {"steps_ahead": 2},
              "state": {"directory": workplace.path("state"), "snapshot_every": 20}}
    for source in config["sources"]:
        source["epochs"] = 1
    shutil.copy(path(BAD + ".bin"), path("kept.bin"))
    return workplace.write("job", config), path


def cut(path):
    """Nothing can be read of it any more; its index is whole."""
    os.truncate(path(BAD + ".bin"), 0)


def bad_documents(corpus):
    """(number of the source, its documents in the bad shard)."""
    names = list(corpus.patterns)
    heavy = corpus.source("heavy")
    before, shard = heavy.shards[0], heavy.shards[1]  # heavy-00, heavy-01
    return names.index("heavy"), range(len(before), len(before) + len(shard))


def first_changed(before, after):
    return next(i for i, (a, b) in enumerate(zip(before, after)) if a[0] != b[0])


def ledger_of(workplace):
    state = workplace.path("state")
    (name,) = [name for name in os.listdir(state) if name.endswith(".ledger")]
    with open(os.path.join(state, name), encoding="ascii") as file:
        return file.read()


def test_all_ranks_go_on_without_it(job, small_corpus, workplace):
    config, path = job
    whole = [step["digest"] for step in harness.plan(config, 10**6)]
    with harness.Daemon(config) as daemon, Team(daemon.endpoint) as team:
        found = team.run(0, 4)
        cut(path)
        found += team.run(5)
        status, said = daemon.status(), daemon.stderr()
    digests = [digest.hex() for digest, _ in found]
    step = next(i for i, digest in enumerate(digests) if digest != whole[i])
    assert 5 <= step <= 12, "from the first step that was not gathered"
    assert f"\ndrop {step} heavy 1 {BAD}.idx\n" in ledger_of(workplace)
    assert f"from_step={step} source=heavy shard={BAD}.idx" in said
    assert status["bad_shards"]["dropped"] == 1 and status["bad_shards"]["bad_steps"] == 0
    number, documents = bad_documents(small_corpus)
    account = Account(small_corpus, list(small_corpus.patterns))
    for k, (_, pieces) in enumerate(found):
        account.enter(pieces, k)
        assert k < step or not any(
            p["source"] == number and p["document"] in documents for p in pieces)
    account.check_once(
        may_lack=lambda source, document: source == number and document in documents)
    planned = harness.plan(config, 10**6, "--state", workplace.path("state"))
    assert digests == [plan["digest"] for plan in planned]
    with harness.Daemon(config) as again, Team(again.endpoint, step=step) as team:
        assert "known by its index alone" in again.stderr()
        assert team.run(step) == found[step:], "also after a restart"


def get_it(ranks, step):
    """Do those ranks get the step? If not, they are told to ask again."""
    said = {rank.ask(step, slot)[0]["status"] for rank in ranks for slot in range(MICROBATCHES)}
    assert said <= {OK, BUSY}
    return said == {OK}


def first_bad(ranks):
    """The step that cannot be had, by asking for one after the other."""
    step = 0
    while get_it(ranks, step):
        step += 1
    return step


def test_the_last_rank_is_waited_for(job):
    config, path = job
    with harness.Daemon(config) as daemon, Team(daemon.endpoint) as team:
        cut(path)
        others = team.ranks[:-1]
        step = first_bad(others)
        assert get_it(team.ranks[-1:], step - 1)
        assert not any(get_it(others, step) for _ in range(5))
        assert daemon.status()["bad_shards"]["dropped"] == 0
        assert len(team.run(step, step + 5)) == 6
        assert daemon.status()["bad_shards"]["dropped"] == 1


def test_what_a_trainer_may_have_had_is_not_taken_back(job):
    config, path = job
    with harness.Daemon(config) as daemon:
        cut(path)
        with Team(daemon.endpoint) as team:
            step = first_bad(team.ranks[:-1])
            with Rank(daemon.endpoint, 0, 1, pp=1, next_step=step + 1):
                assert not any(get_it(team.ranks, step) for _ in range(5))
                batch, _ = team.ranks[0].ask(step, 0)
                assert (f"rank dp 0, cp 1, pp 1, tp 0 was sent some of step {step} already: "
                        "start all ranks again") in batch["message"]
                assert BAD in batch["message"]
                assert daemon.status()["bad_shards"]["dropped"] == 0
        with Rank(daemon.endpoint, 0, 1, pp=1, incarnation=2), \
                Team(daemon.endpoint, incarnation=2) as team:
            assert len(team.run(step, step + 3)) == 4


def test_ranks_that_go_back_have_given_up_what_they_had(job):
    config, path = job
    with harness.Daemon(config) as daemon, Team(daemon.endpoint) as team:
        team.run(0, 6)
        for rank in team.ranks:
            rank.ack(6)
        while daemon.status()["cache"]["payloads"] > 24:  # of three steps; until it has forgotten
            assert daemon.alive()
        cut(path)
        assert len(team.run(0, 20)) == 21
        assert daemon.status()["bad_shards"]["dropped"] == 1


def test_a_rank_that_looks_back_keeps_what_it_has(job):
    config, path = job
    with harness.Daemon(config) as daemon, Team(daemon.endpoint) as team:
        team.run(0, 5)
        with Team(daemon.endpoint, pp=1) as last:
            last.run(0, 20)
            for rank in last.ranks:
                rank.ack(5)
                assert rank.ask(2, 0)[0]["status"] == OK
            cut(path)
            step = 6
            while get_it(team.ranks, step):
                step += 1
            assert step <= 20
            assert not any(get_it(team.ranks, step) for _ in range(5))
            assert daemon.status()["bad_shards"]["dropped"] == 0


def test_all_that_read_are_waited_for(job, workplace):
    """Of two pipeline stages both read, or serve.readers says how many clients do."""
    config, path = job
    settings = harness.settings(config)
    settings["parallel"]["pp"] = 2
    for readers in 0, DP * CP:
        shutil.rmtree(workplace.path("state"), ignore_errors=True)
        config = workplace.write("job", {**settings, "serve": {"steps_ahead": 2,
                                                               "readers": readers}})
        with harness.Daemon(config) as daemon, Team(daemon.endpoint) as team:
            if not readers:
                cut(path)
                step = first_bad(team.ranks)
                assert not any(get_it(team.ranks, step) for _ in range(5))
                assert "4 of 8 do (serve.readers)" in team.ranks[0].ask(step, 0)[0]["message"]
                assert daemon.status()["bad_shards"]["dropped"] == 0
                shutil.copy(path("kept.bin"), path(BAD + ".bin"))
            else:
                cut(path)
                assert len(team.run(0, 12)) == 13
                assert daemon.status()["bad_shards"]["dropped"] == 1


def test_ranks_that_may_ask_other_daemons_are_sent_there(job):
    config, path = job
    with harness.Daemon(config) as daemon, Team(daemon.endpoint, daemons=2) as team:
        cut(path)
        step = 0
        while (batch := team.ranks[2].ask(step, 0)[0])["status"] == OK:
            step += 1
        assert batch["status"] == ballast_wire.STATUSES.index("IO_ERROR")
        assert BAD in batch["message"] and "ballastctl drop, on every daemon" in batch["message"]
        for rank in team.ranks:
            assert rank.ask(step, 0)[0]["status"] == batch["status"]
        assert daemon.status()["bad_shards"]["dropped"] == 0


def test_a_source_is_not_dropped_whole(job):
    config, path = job
    with harness.Daemon(config) as daemon, Team(daemon.endpoint) as team:
        for shard in ("heavy-00", "heavy-01", "heavy-02"):
            os.truncate(path(shard + ".bin"), 0)
        with pytest.raises(AssertionError, match="heavy-0"):
            team.run(0)
        assert daemon.status()["bad_shards"]["dropped"] == 2
        assert "nothing of it is left" in daemon.stderr()


def test_shards_that_are_bad_in_turns_are_all_dropped(job, workplace):
    config, path = job
    narrow = workplace.write("narrow", {
        **harness.settings(config), "context_window": 512, "max_sequence_length": 1024,
        "packing": {"policy": "wlb", "outlier_thresholds": [128, 320]},
        "serve": {"steps_ahead": 2, "gather_threads": 1}})
    with harness.Daemon(narrow) as daemon, Team(daemon.endpoint) as team:
        for shard in (BAD, "light-00"):
            os.truncate(path(shard + ".bin"), 0)
        assert len(team.run(0, 9)) == 10
        assert daemon.status()["bad_shards"]["dropped"] == 2


def test_a_rank_that_comes_while_a_step_is_read_holds_nobody_up(shards, workplace):  # noqa: F811
    config = {**shards[0], "on_bad_shard": "skip", "context_window": 262144,
              "max_sequence_length": 524288,
              "packing": {"policy": "wlb", "outlier_thresholds": [65536, 163840]},
              "parallel": {"dp": DP, "cp": CP, "microbatches": MICROBATCHES},
              "serve": {"steps_ahead": 1, "gather_threads": 1},
              "state": {"directory": workplace.path("state")}}
    with harness.Daemon(workplace.write("wide", config)) as daemon, \
            Team(daemon.endpoint) as team, Rank(daemon.endpoint, 0, 0, pp=1) as comes:
        for step in range(20):
            for rank in team.ranks:
                rank.request(step, rank.rank["dp"] * MICROBATCHES, deadline_ms=60000)
            while not team.ranks[0].socket.poll(1):
                comes.hello()
            for rank in team.ranks:
                _, batch, _ = rank.receive(120000)
                assert batch["status"] == OK, batch["message"]


def test_a_change_recorded_for_later_does_not_stand_in_its_way(job, workplace):
    config, path = job
    wider = workplace.write("wider", {**harness.settings(config), "context_window": 8192,
                                      "max_sequence_length": 16384})
    with harness.Daemon(config) as daemon, Team(daemon.endpoint) as team:
        admin = "--admin", daemon.serve["admin"], "--timeout", 60000
        harness.ctl("reshape", "--from-step", 20, "--config", wider, *admin)
        cut(path)
        found = team.run(0, 19)
        with Team(daemon.endpoint, step=20, incarnation=2) as after:
            found += after.run(20, 25)
        ledger = ledger_of(workplace)
    assert ledger.index("\ndrop ") < ledger.index("\nreshape 20\n")
    assert max(p["length"] for _, pieces in found[20:] for p in pieces) > 4096


def test_by_hand_on_every_replica(job, small_corpus, workplace):
    config, path = job
    other = workplace.write("other", {**harness.settings(config), "on_bad_shard": "stop",
                                      "serve": {}, "state": {"directory": workplace.path("s2")}})
    with harness.Daemon(config) as one, harness.Daemon(other) as two:
        for daemon in one, two:
            shown = harness.ctl("drop", "heavy", BAD + ".idx", "--from-step", 7, "--admin",
                                daemon.serve["admin"], "--timeout", 60000)
            assert "in force from step 7 on; the ledger has 1 entry" in shown
        with Team(one.endpoint) as first, Team(two.endpoint) as second:
            assert first.run(0, 20) == second.run(0, 20)
        where = harness.ctl("where", "heavy", bad_documents(small_corpus)[1][0], "--config", config,
                            "--state", workplace.path("state"))
        assert "the ledger drops its shard from step 7 on\n" in where
        for arguments, why in ((("heavy", "heavy-09.idx"), "has 0 shards of the name"),
                               (("none", BAD + ".idx"), "there is no source 'none'"),
                               (("heavy", BAD + ".idx"), "is dropped from step 7 on already")):
            done = harness.run([harness.program("ballastctl"), "drop", *arguments, "--from-step",
                                "40", "--admin", one.serve["admin"]])
            assert done.returncode == 64 and why in done.stderr.decode()
