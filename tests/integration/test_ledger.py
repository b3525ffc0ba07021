"""The ledger: layouts, windows and policies that change while the job lives, steps left out."""
import contextlib
import json
import os
import random
import shutil
import subprocess
import threading
import time

import pytest

import corpora
import harness
from harness import ballast_wire
from served_once import Account
from test_snapshots import mounted

WRONG_JOB, WRONG_LAYOUT, OUT_OF_RANGE, END = map(
    ballast_wire.STATUSES.index, ("WRONG_JOB", "WRONG_LAYOUT", "OUT_OF_RANGE", "END"))


@pytest.fixture(scope="module")
def long_corpus(tmp_path_factory):
    """Enough for some 200 steps."""
    return corpora.generated(str(tmp_path_factory.mktemp("long")), documents=2700)


class Job:
    """A daemon with a state directory, and its configurations."""

    def __init__(self, workplace, corpus, name="job", **options):
        options = {"epochs": 1, "dp": 4, "microbatches": 1, "cp": 2, **options}
        self.workplace, self.folder = workplace, workplace.path(name + ".state")
        self.state = {"directory": self.folder, "snapshot_every": 20}
        self.config = harness.configuration(corpus, state=self.state, **options)
        self.path = workplace.write(name, self.config)
        self.serve = harness.settings(self.path)["serve"]

    def variant(self, name, **changes):
        """The path of a configuration that differs in whole keys."""
        return self.workplace.write(name, {**self.config, "serve": self.serve, **changes})

    def ledger(self):
        found = [name for name in os.listdir(self.folder) if name.endswith(".ledger")]
        assert len(found) <= 1
        return os.path.join(self.folder, found[0]) if found else None

    def plan(self, steps, first=0, path=None):
        return harness.plan(path or self.path, steps, "--from", first, "--state", self.folder)


def fails(*arguments, code=64):
    """Standard error of a ballastctl that must be refused."""
    patience = PATIENCE if arguments[0] in ("reshape", "skip") else ()
    done = harness.run([harness.program("ballastctl"), *map(str, arguments + patience)])
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stderr.decode()


PATIENCE = ("--timeout", 60000)  # of ballastctl, on a machine that has other things to do


def headers(connection, step, microbatches):
    """The digest of a step, and all its pieces."""
    pieces, digest = {}, None
    for m in range(microbatches):
        connection.request(step, m, 0, parts=ballast_wire.PART_PIECES, deadline_ms=60000)
    for m in range(microbatches):
        message, batch, frames = connection.receive(60000)
        ballast_wire.accept("Batch", message, batch)
        pieces[batch["microbatch"]] = ballast_wire.decode_pieces(frames[0])
        assert digest in (None, batch["digest"])
        digest = batch["digest"]
    return digest, [piece for m in range(microbatches) for piece in pieces[m]]


def ask(connection, step, microbatch=0, cp_rank=0, parts=ballast_wire.ALL_PARTS):
    """A Batch header of whatever status."""
    connection.request(step, microbatch, cp_rank, parts=parts, deadline_ms=60000)
    _, batch, _ = connection.receive(60000)
    return batch


def serve(daemon, account, first, last, layout):
    """Asks for all of first .. last as a trainer of that layout; up to END where last is None."""
    digests = {}
    with ballast_wire.Connection(daemon.endpoint, timeout_ms=60000) as rank:
        facts = rank.hello(step=first)
        assert (facts["dp"], facts["context_window"]) == layout, facts
        step = first
        while last is None or step <= last:
            if last is None and ask(rank, step, parts=0)["status"] == END:
                break
            digests[step], pieces = headers(rank, step, facts["dp"] * facts["microbatches"])
            account.enter(pieces, f"step {step}")
            step += 1
    return digests


def tokens_of(daemon, corpus, names, step):
    """Every token of a step as the ranks get it, held against the shards."""
    with ballast_wire.Connection(daemon.endpoint, timeout_ms=60000) as rank:
        facts = rank.hello(step=step)
        for m in range(facts["dp"] * facts["microbatches"]):
            for cp_rank in range(facts["cp"]):
                batch = rank.get_batch(step, m, cp_rank, deadline_ms=60000)
                totals = batch["rank_chunks"]
                expected = []
                for piece, start, length in batch["chunks"][totals[cp_rank]:totals[cp_rank + 1]]:
                    row = batch["pieces"][piece]
                    expected += corpus.source(names[row["source"]]).read(
                        row["document"], row["offset"] + start, length)
                assert batch["rank_tokens"][:batch["tokens"]] == expected


def test_every_document_once_over_changes_of_layout_and_window(long_corpus, workplace):
    job = Job(workplace, long_corpus)
    names = [source["name"] for source in job.config["sources"]]
    account = Account(long_corpus, names)
    second = job.variant("second", parallel={"dp": 2, "cp": 2}, context_window=32768,
                         max_sequence_length=65536, packing={"policy": "adaptive"},
                         sharding={"strategy": "hybrid"})
    third = job.variant("third", parallel={"dp": 8, "cp": 1}, context_window=32768,
                        max_sequence_length=32768, packing={"policy": "fixed-greedy", "window": 2})
    daemon = harness.Daemon(job.path)
    with contextlib.ExitStack() as opened:
        opened.callback(daemon.kill)
        digests = serve(daemon, account, 0, 99, (4, 16384))
        old = opened.enter_context(ballast_wire.Connection(daemon.endpoint, timeout_ms=60000))
        old.hello()
        text = harness.ctl("reshape", "--from-step", 100, "--config", second, *PATIENCE)
        assert "in force from step 100 on" in text
        refused = ask(old, 100)
        assert refused["status"] == WRONG_LAYOUT
        assert "step 100 has another layout" in refused["message"]
        assert "steps 100 to the last have dp 2, cp 2" in refused["message"]
        assert "context window 32768" in refused["message"]
        assert ask(old, 99)["status"] == 0, "what was before is still served"
        digests |= serve(daemon, account, 100, 199, (2, 32768))
        harness.ctl("reshape", "--from-step", 200, "--config", third, *PATIENCE)
        digests |= serve(daemon, account, 200, None, (8, 32768))
        with ballast_wire.Connection(daemon.endpoint, timeout_ms=60000) as new:
            facts = new.hello(step=200)
            assert (facts["from_step"], facts["until_step"]) == (200, 0)
            assert facts["ledger_entries"] == 2
            refused = ask(new, 199)
            assert refused["status"] == WRONG_LAYOUT
            assert "steps 100 to 199 have dp 2" in refused["message"]
            assert ask(new, 199, parts=0)["digest"] == digests[199], "for the check of a resume"
        with ballast_wire.Connection(daemon.endpoint, dp=7) as new:
            with pytest.raises(ballast_wire.StatusError, match="OUT_OF_RANGE.*steps 0 to 99"):
                new.hello(step=0)
        documents, tokens = account.check_once()
        assert documents > 5000 and tokens > 10 << 20
        for step in (99, 100, 101, 199, 200):
            tokens_of(daemon, long_corpus, names, step)
    same_everywhere(job, digests, third)


def same_everywhere(job, digests, newest):
    """After kill -9, from the newest configuration, from a replica, and without a daemon."""
    for path in (job.path, newest):
        with harness.Daemon(path) as daemon:
            assert daemon.status()["snapshots"]["loaded"] > 5
            for step in (0, 99, 100, 150, 199, 200, max(digests)):
                with ballast_wire.Connection(daemon.endpoint, timeout_ms=60000) as rank:
                    rank.hello(step=step)
                    assert ask(rank, step, parts=0)["digest"] == digests[step], step
    lines = job.plan(10000)
    assert {line["step"]: bytes.fromhex(line["digest"]) for line in lines} == digests
    replica = job.workplace.path("replica.state")
    os.mkdir(replica)
    shutil.copy(job.ledger(), replica)
    config = {**job.config, "state": {"directory": replica}, "serve": {}}
    with harness.Daemon(job.workplace.write("replica", config)) as daemon:
        with ballast_wire.Connection(daemon.endpoint, timeout_ms=60000) as rank:
            rank.hello(step=max(digests))
            assert ask(rank, max(digests), parts=0)["digest"] == digests[max(digests)]


@pytest.fixture
def job(small_corpus, workplace):
    return Job(workplace, small_corpus, epochs="repeat", window=4096, dp=2, microbatches=2)


def digest_of(daemon, step):
    with ballast_wire.Connection(daemon.endpoint, timeout_ms=60000) as rank:
        return ask(rank, step, parts=0)["digest"]


def test_skipped_steps_get_the_data_that_follow(job):
    plain = harness.plan(job.path, 40)
    with harness.Daemon(job.path) as daemon, \
            ballast_wire.Connection(daemon.endpoint, timeout_ms=60000) as rank:
        rank.hello()
        for step in range(31):
            assert ask(rank, step, parts=0)["status"] == 0
        spike = ["skip", "--from", 20, "--to", 24, "--config", job.path]
        assert "step 20 was asked for" in fails(*spike)
        harness.ctl(*spike, "--force", *PATIENCE)
        assert daemon.status()["requested_step"] == 19
        assert ask(rank, 19, parts=0)["digest"].hex() == plain[19]["digest"]
        for step in (20, 25, 30):
            again = ask(rank, step)
            assert again["status"] == 0, "the same client goes on, and its layout is the same"
            assert again["digest"].hex() != plain[step]["digest"]
            assert again["job_digest"] != rank.job["job_digest"]
    skipped = job.plan(35)
    documents = [[[(p["source"], p["document"], p["offset"]) for p in mb["pieces"]]
                  for mb in step["microbatches"]] for step in skipped[20:]]
    assert documents == [[[(p["source"], p["document"], p["offset"]) for p in mb["pieces"]]
                          for mb in step["microbatches"]] for step in plain[25:40]]


def test_where_a_document_is(job):
    """As plans and ledger say, from snapshots, and in little time."""
    with harness.Daemon(job.path) as daemon:
        harness.ctl("skip", "--from", 20, "--to", 24, "--config", job.path, *PATIENCE)
        digest_of(daemon, 120)
    lines = job.plan(120)
    for step in (0, 20, 99):
        for mb in lines[step]["microbatches"][:2]:
            piece = mb["pieces"][0]
            found = json.loads(harness.ctl("where", piece["source"], piece["document"], "--config",
                                           job.path, "--json"))
            place, = [p for p in found["places"] if p["offset"] == piece["offset"]]
            assert (place["state"], place["step"]) == ("served", step)
            assert (place["microbatch"], place["dp"], place["slot"]) == (
                mb["index"], mb["dp"], mb["slot"])
            assert place["ranks"] == [r for r, rank in enumerate(mb["ranks"])
                                      if any(chunk[0] == 0 for chunk in rank["chunks"])]
            assert sum(p["length"] for p in found["places"]) == found["tokens"]
    left_out = harness.plan(job.path, 1, "--from", 22)[0]["microbatches"][0]["pieces"][0]
    text = harness.ctl("where", left_out["source"], left_out["document"], "--config", job.path)
    assert "left out by the ledger" in text
    text = harness.ctl("where", left_out["source"], left_out["document"], "--config", job.path,
                       "--to", 3)
    assert "it has not begun" in text
    with harness.Daemon(job.path) as daemon:
        digest_of(daemon, 120)
        socket = daemon.serve["admin"]
        again = harness.ctl("where", left_out["source"], left_out["document"], "--admin", socket,
                            *PATIENCE)
        assert "left out by the ledger" in again
        piece = lines[99]["microbatches"][0]["pieces"][0]
        here = json.loads(harness.ctl("where", piece["source"], piece["document"], "--config",
                                      job.path, "--json"))
        there = json.loads(harness.ctl("where", piece["source"], piece["document"], "--admin",
                                       socket, "--json", *PATIENCE))
        assert here["places"] == there["places"]
        assert "there is no source" in fails("where", "nowhere", 0, "--admin", socket)
    assert "needs --config" in fails("where", "heavy", 0)
    assert "there is no source" in fails("where", "nowhere", 0, "--config", job.path)
    assert "expected a document" in fails("where", "heavy", "x", "--config", job.path)


def test_a_daemon_that_searches_can_be_stopped(job):
    """Every search is answered, be it by BUSY or DRAINING, and the daemon ends well."""
    daemon = harness.Daemon(job.path)
    with contextlib.ExitStack() as opened:
        opened.callback(daemon.kill)
        digest_of(daemon, 400)
        operator = opened.enter_context(
            ballast_wire.Operator(daemon.serve["admin"], timeout_ms=60000))
        for document in range(8):
            operator.send(ballast_wire.encode("Admin", command="where",
                                              arguments=["light", str(document), "0"]))
        answers = [operator.receive()[1]["status"]]
        daemon.stop()
        answers += [operator.receive()[1]["status"] for _ in range(7)]
    names = {ballast_wire.STATUSES[status] for status in answers}
    assert names <= {"OK", "BUSY", "DRAINING"}


@pytest.mark.parametrize("change, why", [
    ({"seed": 5}, "seed differs"),
    ({"vocab_size": 60000}, "vocab_size differs"),
    ({"packing": {"policy": "fixed-solver"}}, "for studies"),
    ({}, "nothing changes"),
])
def test_what_cannot_follow_is_refused(job, change, why):
    other = job.variant("other", **change)
    with harness.Daemon(job.path):
        assert why in fails("reshape", "--from-step", 10, "--config", other)
    assert job.ledger() is None


def test_history_cannot_be_changed(job):
    other = job.variant("other", parallel={"dp": 4, "microbatches": 2, "cp": 2})
    with harness.Daemon(job.path) as daemon:
        assert "the configuration itself" in fails("reshape", "--from-step", 0, "--config", other)
        harness.ctl("reshape", "--from-step", 50, "--config", other, *PATIENCE)
        assert "lies before step 50" in fails("skip", "--from", 40, "--to", 41, "--force",
                                              "--config", job.path)
        assert "first one first" in fails("skip", "--from", 60, "--to", 59, "--config", job.path)
        text = harness.ctl("status", "--config", job.path)
        assert "1 entry, the last from step 50 on" in text
        status = daemon.status()["ledger"]
        assert (status["entries"], status["last_step"]) == (1, 50)


def test_without_a_state_directory_there_is_no_ledger(job):
    path = job.variant("bare", state={})
    with harness.Daemon(path):
        assert "set state.directory" in fails("skip", "--from", 5, "--to", 6, "--config", path)


def test_a_ledger_that_is_damaged_ends_the_start(job):
    with harness.Daemon(job.path):
        harness.ctl("skip", "--from", 5, "--to", 6, "--config", job.path, *PATIENCE)
    with open(job.ledger(), "r+b") as file:
        file.seek(20)
        file.write(b"x")
    done = harness.run([harness.program("ballastd"), "--config", job.path])
    assert done.returncode == 65
    assert os.path.basename(job.ledger()).encode() in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_leaves_the_ledger_as_it_was(job):
    os.mkdir(job.folder)
    skip = ["skip", "--from", 5, "--to", 6, "--config", job.path]
    with mounted(job.folder, "-t", "tmpfs", "-o", "size=64k", "none"):
        filler = os.path.join(job.folder, "filler")
        with harness.Daemon(job.path) as daemon:
            expected = digest_of(daemon, 9)
            with open(filler, "wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)):
                        pass
                except OSError:
                    pass
            assert "No space left on device" in fails(*skip, "--force", code=74)
            assert daemon.status()["ledger"]["entries"] == 0 and job.ledger() is None
            assert digest_of(daemon, 9) == expected
            os.unlink(filler)
            harness.ctl(*skip, "--force", *PATIENCE)
            assert digest_of(daemon, 9) != expected


def test_kills_while_the_ledger_is_written(job):
    """After each the ledger is what it was, or has the entry; never anything else."""
    rng, entries, took_s = random.Random(3), 0, 0.0
    for turn in range(16):
        daemon = harness.Daemon(job.path)
        try:
            assert daemon.status()["ledger"]["entries"] == entries
            command = [harness.program("ballastctl"), "skip", "--from", str(100 + turn), "--to",
                       str(100 + turn), "--config", job.path]
            killer = threading.Timer(rng.uniform(0, took_s), daemon.kill)
            began_s = time.monotonic()
            if turn:
                killer.start()
            done = harness.run(command + ["--timeout", "500" if turn else "60000"])
            took_s = took_s or time.monotonic() - began_s
            killer.cancel()
        finally:
            daemon.kill()
        with harness.Daemon(job.path) as again:
            found = again.status()["ledger"]["entries"]
            assert found in (entries, entries + 1)
            assert done.returncode != 0 or found == entries + 1, "what was answered is there"
            digest_of(again, 120)
            entries = found
    assert entries > 0, "the first was not disturbed"


def train(endpoints, dp, first, steps, *arguments):
    """One rank with libballast: (exit status, steps taken, standard error)."""
    done = harness.run([harness.program("train_rank"), "--first-step", str(first), "--json",
                        *arguments, endpoints, str(dp), "0", str(steps)])
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return (done.returncode, sorted({line["step"] for line in lines if "step" in line}),
            done.stderr.decode())


def test_libballast_is_told_of_the_layout_and_opens_in_the_next(job):
    wider = job.variant("wider", parallel={"dp": 4, "microbatches": 1, "cp": 1})
    with harness.Daemon(job.path) as daemon:
        harness.ctl("skip", "--from", 5, "--to", 6, "--config", job.path, *PATIENCE)
        harness.ctl("reshape", "--from-step", 12, "--config", wider, *PATIENCE)
        status, steps, error = train(daemon.endpoint, 1, 0, 100)
        assert status == 1 and steps == list(range(12)), "on over the skip, up to the reshape"
        assert "step 12 has another layout" in error
        assert "steps 12 to the last have dp 4, cp 1, 1 micro-batches" in error
        last = digest_of(daemon, 11).hex()
        assert train(daemon.endpoint, 3, 12, 5, "--digest", last)[:2] == (0, list(range(12, 17)))
        status, steps, error = train(daemon.endpoint, 3, 12, 5, "--digest", "00" * 16)
        assert status == 1 and steps == [] and "digest of step 11" in error
        status, _, error = train(daemon.endpoint, 3, 0, 5)
        assert status == 1 and "steps 0 to 11 have dp 2" in error


def test_the_ledger_may_change_while_ranks_stream(job):
    """Skips just ahead of ranks that do not wait: what each of them got is what the ledger says."""
    steps, ranks = 600, [(dp, cp) for dp in range(2) for cp in range(2)]
    with harness.Daemon(job.path) as daemon, contextlib.ExitStack() as opened:
        harness.ctl("skip", "--from", 5, "--to", 6, "--config", job.path, *PATIENCE)
        running = [opened.enter_context(subprocess.Popen(
            [harness.program("train_rank"), "--json", daemon.endpoint, str(dp), str(cp),
             str(steps)], stdout=subprocess.PIPE)) for dp, cp in ranks]
        taken = []
        readers = [threading.Thread(target=lambda rank=rank: taken.append(rank.stdout.read()))
                   for rank in running]
        for reader in readers:
            reader.start()
        while any(rank.poll() is None for rank in running):
            ahead = (daemon.status()["requested_step"] or 0) + 3
            harness.run([harness.program("ballastctl"), "skip", "--from", str(ahead), "--to",
                         str(ahead + 1), "--config", job.path, "--timeout", "60000"])
        for reader in readers:
            reader.join()
        assert [rank.returncode for rank in running] == [0] * len(ranks)
    expected = {line["step"]: line["digest"] for line in job.plan(steps)}
    for output in taken:
        lines = [json.loads(line) for line in output.decode().splitlines()]
        found = {line["step"]: line["digest"] for line in lines if "digest" in line}
        assert found == expected


def test_libballast_drops_daemons_whose_ledger_differs(job, workplace):
    """Its daemon is killed and comes back without the ledger, and its replica never had one."""
    bare = workplace.write("bare", {**job.config, "state": {}, "serve": {}})
    with harness.Daemon(bare) as replica:
        daemon = harness.Daemon(job.path)
        harness.ctl("skip", "--from", 5, "--to", 6, "--config", job.path, *PATIENCE)
        command = [harness.program("train_rank"), "--first-step", "8", "--json",
                   f"{daemon.endpoint},{replica.endpoint}", "0", "0", "400"]
        rank = subprocess.Popen(command, bufsize=0, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        rank.stdout.readline()
        daemon.kill()
        expected = {line["digest"] for line in job.plan(410)}
        os.unlink(job.ledger())
        with harness.Daemon(job.path):
            out, error = rank.communicate(timeout=harness.DEADLINE_S)
        assert rank.returncode == 1
        assert b"its ledger differs: 0 changes of the job, where the daemon asked first had 1" \
            in error, error
        digests = {json.loads(line)["digest"] for line in out.splitlines() if b"digest" in line}
        assert digests and digests <= expected


def test_a_replica_without_the_ledger_is_not_taken(job, workplace):
    bare = workplace.write("bare", {**job.config, "state": {}, "serve": {}})
    with harness.Daemon(job.path) as daemon, harness.Daemon(bare) as replica:
        harness.ctl("skip", "--from", 5, "--to", 6, "--config", job.path, *PATIENCE)
        with ballast_wire.Connection(daemon.endpoint, timeout_ms=60000) as rank:
            digest = rank.hello(step=7)["job_digest"]
        with ballast_wire.Connection(replica.endpoint) as rank:
            rank.hello(step=7)
            rank.job["job_digest"] = digest
            refused = ask(rank, 7)
            assert refused["status"] == WRONG_JOB
            assert "ledger (0 entries)" in refused["message"]
