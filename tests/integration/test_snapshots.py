"""Snapshots: no kill at any moment costs or changes a step, and restarts begin where they are."""
import contextlib
import hashlib
import os
import random
import shutil
import threading

import pytest

import harness
from harness import ballast_wire
from wire import OK, Client

DRAINING = ballast_wire.STATUSES.index("DRAINING")

RANKS = [(dp, cp) for dp in range(2) for cp in range(2)]
MICROBATCHES = 2  # of a replica
KILLS = 20
STEPS = 400
EVERY = 10
PATIENCE_MS = 300  # of a rank, before it asks again


@pytest.fixture
def config(small_corpus, workplace):
    return harness.configuration(
        small_corpus, window=4096, microbatches=MICROBATCHES,
        state={"directory": workplace.path("state"), "snapshot_every": EVERY})


class Rank(threading.Thread):
    """A trainer rank that outlives its daemon: asks for one micro-batch after the other, again
    after every silence, and hashes what it gets."""

    def __init__(self, endpoint, dp, cp, steps, progress):
        super().__init__()
        self.endpoint, self.dp, self.cp = endpoint, dp, cp
        self.steps, self.progress = steps, progress
        self.stream, self.sizes = hashlib.sha256(), []
        self.silences, self.failure = 0, None

    def run(self):
        wanted = [(step, self.dp * MICROBATCHES + slot)
                  for step in self.steps for slot in range(MICROBATCHES)]
        try:
            while wanted:
                self._connect(wanted)
        except BaseException as failure:  # reported by the test, in its own thread
            self.failure = failure
        finally:
            self.progress.made(None)

    def _connect(self, wanted):
        """Takes what is wanted until the daemon falls silent."""
        try:
            with Client(self.endpoint) as client:
                client.timeout_ms = PATIENCE_MS
                while wanted:
                    self._take(client, *wanted[0])
                    step, _ = wanted.pop(0)
                    if not wanted or wanted[0][0] != step:
                        self.progress.made(step)
        except (TimeoutError, ballast_wire.StatusError):
            self.silences += 1
            assert self.silences < 100, "the daemon does not come back"

    def _take(self, client, step, microbatch):
        reply = client.get(step, microbatch, self.cp)
        if reply.status == DRAINING:
            raise TimeoutError
        assert reply.status == OK, (reply.status, reply.message)
        for frame in (reply.digest, *reply.frames):
            self.stream.update(frame)
            self.sizes.append(len(frame))


class Progress:
    """Counts the steps that ranks have finished, for those who wait for the next."""

    def __init__(self):
        self.changed, self.count, self.furthest, self.ended = threading.Condition(), 0, 0, 0

    def made(self, step):
        with self.changed:
            self.count += 1
            self.furthest = max(self.furthest, step or 0)
            self.ended += step is None
            self.changed.notify_all()

    def wait(self, count):
        """True when so many steps are done, False when all ranks have ended before."""
        with self.changed:
            assert self.changed.wait_for(
                lambda: self.count >= count or self.ended == len(RANKS), harness.DEADLINE_S)
            return self.ended < len(RANKS)


def train(endpoint, steps, disturb=lambda progress: None):
    """What every rank has received, [(hash, sizes of frames)], while `disturb` is at work."""
    progress = Progress()
    ranks = [Rank(endpoint, dp, cp, steps, progress) for dp, cp in RANKS]
    for rank in ranks:
        rank.start()
    disturb(progress)
    for rank in ranks:
        rank.join()
    assert [rank.failure for rank in ranks] == [None] * len(ranks)
    return [(rank.stream.hexdigest(), rank.sizes) for rank in ranks]


def snapshots(folder):
    """Steps of the snapshots there, rising."""
    return sorted(int(name.split("-")[1].split(".")[0]) for name in os.listdir(folder)
                  if name.endswith(".snapshot"))


def used(folder):
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))


def snapshot_path(folder, step):
    return next(os.path.join(folder, name) for name in os.listdir(folder)
                if name.endswith(f"-{step:020}.snapshot"))


def admin(daemon, command, *arguments):
    with ballast_wire.Operator(daemon.serve["admin"]) as operator:
        return operator.admin(command, *arguments)


def test_kills_at_random_moments_change_nothing(config, workplace):
    path = workplace.write("job", config)
    plain = workplace.write("plain", {**config, "state": {}})
    with harness.Daemon(plain) as undisturbed:
        expected = train(undisturbed.endpoint, range(STEPS))
    rng, running, loaded = random.Random(5), [harness.Daemon(path)], []

    def kill(progress):
        for _ in range(KILLS):
            pause = rng.randrange(1, len(RANKS) * STEPS // KILLS)  # half of all: ranks run on
            if not progress.wait(progress.count + pause):
                break
            running[0].kill()
            running[0] = harness.Daemon(path)
            loaded.append(running[0].status()["snapshots"]["loaded"])

    try:
        received = train(running[0].endpoint, range(STEPS), kill)
        running[0].stop()
    finally:
        if running[0].alive():
            running[0].kill()
    assert received == expected
    assert len(loaded) >= KILLS // 2 and loaded[-1] > 0
    assert used(config["state"]["directory"]) < 1 << 20


def killed(path, *steps):
    """Plans of `steps` by a daemon that saves a snapshot behind each and is then killed, and what
    `snapshot` said last."""
    daemon, plans, saved = harness.Daemon(path), {}, None
    try:
        for step in steps:
            plans[step] = admin(daemon, "step", str(step))
            saved = admin(daemon, "snapshot")
        return plans, saved
    finally:
        daemon.kill()


def test_a_restart_begins_at_the_nearest_snapshot(config, workplace):
    path = workplace.write("job", config)
    plans, saved = killed(path, 3, 995, 1003)
    assert saved["step"] >= 1003 and saved["bytes"] > 100
    steps = snapshots(saved["directory"])
    with harness.Daemon(path) as daemon:
        before = daemon.status()
        assert before["snapshots"]["loaded"] == len(steps)
        assert before["snapshots"]["last_snapshot_step"] == steps[-1] == saved["step"]
        for step in (1003, 995):
            assert admin(daemon, "step", str(step)) == plans[step]
        made = daemon.status()["planned_steps"] - before["planned_steps"]
        # 1003 from 996; 995 from one that the planner saved on its way, at worst the first.
        away = sum(k - max(s for s in steps if s <= k) + 1 for k in (1003, 995))
        assert made <= away < 1003, "it planned from the snapshots"
        assert admin(daemon, "step", "3") == plans[3]


def test_the_last_snapshot_is_made_at_the_end(config, workplace):
    config["state"]["snapshot_every"] = 1 << 30
    path = workplace.write("job", config)
    with harness.Daemon(path) as daemon:
        train(daemon.endpoint, range(37))
    assert snapshots(config["state"]["directory"])[-1] in (36, 37)


def spoil_torn(path):
    os.truncate(path, os.path.getsize(path) - 3)


def spoil_foreign(path):
    with open(path, "wb") as file:
        file.write(b"not ours" * 100)


def spoil_empty(path):
    os.truncate(path, 0)


@pytest.mark.parametrize("spoil", [spoil_torn, spoil_foreign, spoil_empty])
def test_a_bad_file_is_skipped_with_a_line(config, workplace, spoil):
    path = workplace.write("job", config)
    plans, saved = killed(path, 333)
    bad = snapshot_path(saved["directory"], saved["step"])
    spoil(bad)
    with open(os.path.join(saved["directory"], ".new-rest"), "wb") as file:
        file.write(b"half")
    with harness.Daemon(path) as daemon:
        status = daemon.status()["snapshots"]
        assert (status["skipped"], status["loaded"]) == (1, len(snapshots(saved["directory"])) - 1)
        assert admin(daemon, "step", "333") == plans[333]
        assert not os.path.exists(os.path.join(saved["directory"], ".new-rest"))
        lines = [line for line in daemon.stderr().splitlines() if "snapshot skipped" in line]
        assert len(lines) == 1 and os.path.basename(bad) in lines[0]


def test_another_job_is_told_what_has_changed(config, workplace):
    killed(workplace.write("job", config), 100)
    other = {**config, "seed": 99, "sharding": {"strategy": "per-sequence"}}
    changes = ("seed=1234 -> seed=99; "
               "sharding: strategy=adaptive -> strategy=per-sequence")
    with harness.Daemon(workplace.write("other", other)) as daemon:
        lines = [line for line in daemon.stderr().splitlines() if "another job" in line]
        assert len(lines) == 1 and changes in lines[0]
        assert daemon.status()["snapshots"]["loaded"] == 0
        with Client(daemon.endpoint) as client:
            assert client.hello().message == changes
    with harness.Daemon(workplace.write("job", config)) as daemon:
        assert daemon.status()["snapshots"]["loaded"] > 0, "the first job's are still there"


def test_a_trainer_of_another_job_is_told_what_has_changed(config, workplace):
    path = workplace.write("job", config)
    first = harness.Daemon(path)
    try:
        with Client(first.endpoint) as client:
            old_digest = client.hello().job_digest
            stored = client.get(9, 0, 0).digest
    finally:
        first.kill()
    with harness.Daemon(workplace.write("other", {**config, "seed": 99})) as daemon:
        with ballast_wire.Connection(daemon.endpoint) as connection:
            kind, values, _ = connection.ask(
                "GetBatch", request=1, step=0, microbatch=0, cp_rank=0, parts=0, deadline_ms=1000,
                job_digest=old_digest)
            assert kind == "Batch"
            assert values["status"] == ballast_wire.STATUSES.index("WRONG_JOB")
            assert values["message"].endswith(": seed=1234 -> seed=99")
        refused = harness.run([harness.program("train_rank"), "--first-step", "10", "--digest",
                               stored.hex(), daemon.endpoint, "0", "0", "1"])
        assert refused.returncode == 1 and not refused.stdout
        assert b"digest of step 9" in refused.stderr
        assert b"seed=1234 -> seed=99" in refused.stderr


def test_a_source_that_changed_is_named(config, workplace):
    killed(workplace.write("job", config), 10)
    fewer = {**config, "sources": [{**config["sources"][0], "paths": config["sources"][1]["paths"]},
                                   *config["sources"][1:]]}
    with harness.Daemon(workplace.write("other", fewer)) as daemon:
        name = config["sources"][0]["name"]
        assert f"corpus {name}: fingerprint differs" in daemon.stderr()


def expect_serving_without(daemon, reason):
    """It serves, says once why it saves nothing, and counts."""
    written = daemon.status()["snapshots"]["written"]
    with ballast_wire.Operator(daemon.serve["admin"]) as operator:
        kind, values, _ = operator.ask("Admin", command="snapshot", arguments=[])
    assert kind == "AdminReply"
    assert values["status"] == ballast_wire.STATUSES.index("IO_ERROR")
    assert reason in values["message"]
    train(daemon.endpoint, range(3 * EVERY))
    status = daemon.status()["snapshots"]
    assert status["snapshot_errors"] > 1 and status["written"] == written
    lines = [line for line in daemon.stderr().splitlines() if "no snapshot written" in line]
    assert lines and reason in lines[-1] and len(lines) <= 2


def test_a_directory_that_is_missing(config, workplace):
    config["state"]["directory"] = workplace.path("no/such")
    with harness.Daemon(workplace.write("job", config)) as daemon:
        expect_serving_without(daemon, "No such file or directory")
        os.makedirs(config["state"]["directory"])
        assert admin(daemon, "snapshot")["step"] > 0
        assert "snapshots are written again" in daemon.stderr()


def test_a_directory_that_vanishes(config, workplace):
    folder = config["state"]["directory"]
    with harness.Daemon(workplace.write("job", config)) as daemon:
        train(daemon.endpoint, range(EVERY))
        assert admin(daemon, "snapshot")["step"] > 0
        os.rename(folder, folder + ".moved")
        train(daemon.endpoint, range(EVERY, 2 * EVERY))
        saved = admin(daemon, "snapshot")
        assert saved["step"] in snapshots(folder), "made anew"
        shutil.rmtree(folder)
        with open(folder, "w", encoding="ascii") as file:
            file.write("in the way")
        expect_serving_without(daemon, "Not a directory")
        os.unlink(folder)
        assert admin(daemon, "snapshot")["step"] in snapshots(folder)
        assert "snapshots are written again" in daemon.stderr()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_directory_that_is_read_only(config, workplace):
    path = workplace.write("job", config)
    plans, saved = killed(path, 200)
    folder = saved["directory"]
    with mounted(folder, "--bind", folder), mounted(folder, "-o", "remount,ro,bind", keep=True):
        with harness.Daemon(path) as daemon:
            assert daemon.status()["snapshots"]["loaded"] > 0, "reading needs no writing"
            assert admin(daemon, "step", "200") == plans[200]
            expect_serving_without(daemon, "Read-only file system")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_disk_that_is_full(config, workplace):
    folder = config["state"]["directory"]
    os.mkdir(folder)
    with mounted(folder, "-t", "tmpfs", "-o", "size=64k", "none"):
        filler = os.path.join(folder, "filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        with harness.Daemon(workplace.write("job", config)) as daemon:
            expect_serving_without(daemon, "No space left on device")
            assert snapshots(folder) == []
            assert not [name for name in os.listdir(folder) if name.startswith(".new-")]
            os.unlink(filler)
            assert admin(daemon, "snapshot")["step"] > 0
            assert "snapshots are written again" in daemon.stderr()


@contextlib.contextmanager
def mounted(folder, *arguments, keep=False):
    """Mounts, or skips the test where even root may not."""
    if harness.run(["mount", *arguments[:-1], arguments[-1], folder] if not keep else
                   ["mount", *arguments, folder]).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        yield
    finally:
        if not keep:
            assert harness.run(["umount", folder]).returncode == 0


def test_two_daemons_with_one_directory(config, workplace):
    with harness.Daemon(workplace.write("job", config)) as first:
        admin(first, "step", "50")
        admin(first, "snapshot")
        with harness.Daemon(workplace.write("twin", config)) as second:
            assert second.status()["snapshots"]["loaded"] > 0
            expect_serving_without(second, "another daemon")
        assert first.status()["snapshots"]["snapshot_errors"] == 0


def test_without_a_directory_nothing_is_kept(config, workplace):
    with harness.Daemon(workplace.write("job", {**config, "state": {}})) as daemon:
        with ballast_wire.Operator(daemon.serve["admin"]) as operator:
            _, values, _ = operator.ask("Admin", command="snapshot", arguments=[])
        assert "state.directory" in values["message"]
        assert daemon.status()["snapshots"] is None
    assert not os.path.exists(config["state"]["directory"])


def test_a_far_step_shows_how_far_it_is(config, workplace):
    with harness.Daemon(workplace.write("job", config)) as daemon:
        with ballast_wire.Connection(daemon.endpoint) as rank:
            rank.hello()
            rank.request(1 << 50, 0, 0, parts=0, deadline_ms=harness.DEADLINE_S * 1000)
            seen = []
            while len(seen) < 2:
                status = daemon.status()
                at = status["planning_at"]
                if at is not None and status["planning_target"] == 1 << 50 and at not in seen:
                    seen.append(at)
            assert seen[0] < seen[1]
            text = harness.ctl("status", "--admin", daemon.serve["admin"])
            assert f"on the way to {1 << 50:,}" in text
