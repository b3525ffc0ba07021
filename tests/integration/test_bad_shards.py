"""on_bad_shard: what a daemon does about token shards that are bad when it starts."""
import os
import shutil

import pytest

import harness
from harness import ballast_wire
from wire import OK, Client, batches


@pytest.fixture
def shards(small_corpus, workplace):
    """A copy of the corpus to be damaged; (configuration, path of a shard's file)."""
    folder = workplace.path("shards")
    sources = small_corpus.configuration("repeat")
    shutil.copytree(os.path.dirname(sources[0]["paths"][0]), folder)
    config = harness.configuration(small_corpus, window=4096, microbatches=2)
    config["sources"] = [
        {**source, "paths": [os.path.join(folder, os.path.basename(source["paths"][0]))]}
        for source in sources]
    return config, lambda name: os.path.join(folder, name)


def cut(path):
    os.truncate(path, os.path.getsize(path) // 2)


def flip(path):
    with open(path, "r+b") as file:
        file.seek(60)
        file.write(b"\xff\xff\xff")


DAMAGES = {
    "tokens cut short": lambda path: cut(path("heavy-01.bin")),
    "index cut short": lambda path: cut(path("heavy-01.idx")),
    "index damaged": lambda path: flip(path("heavy-01.idx")),
    "tokens missing": lambda path: os.unlink(path("heavy-01.bin")),
    "index empty": lambda path: os.truncate(path("heavy-01.idx"), 0),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_stop_names_the_shard(shards, workplace, damage):
    config, path = shards
    damage(path)
    done = harness.run([harness.program("ballastd"), "--config", workplace.write("job", config)])
    assert done.returncode in (65, 66)
    assert "heavy-01" in done.stderr.decode().splitlines()[-1]


def start(workplace, name, config):
    return harness.Daemon(workplace.write(name, config))


def received(daemon):
    return [(reply.digest, *reply.frames)
            for reply in batches(daemon.endpoint, range(3), range(4), range(2))]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_skip_goes_on_without_it_and_says_so(shards, workplace, damage):
    config, path = shards
    config = {**config, "on_bad_shard": "skip"}
    damage(path)
    with start(workplace, "one", config) as one, start(workplace, "other", config) as other:
        assert received(one) == received(other), "replicas of one mind"
        assert one.status()["bad_shards"]["left_out"] == 1
        lines = [line for line in one.stderr().splitlines() if "left out" in line]
        assert len(lines) == 1 and "heavy-01.idx" in lines[0]
        with ballast_wire.Operator(one.serve["admin"]) as operator:
            heavy, light = operator.admin("sources")
        assert (heavy["shards"], heavy["left_out_shards"]) == (2, 1)
        assert (light["shards"], light["left_out_shards"]) == (2, 0)
        shown = harness.ctl("status", "--admin", one.serve["admin"])
        assert "1 left out, 0 dropped; 0 steps cannot be served" in shown


def test_what_is_skipped_makes_another_job(shards, workplace):
    """A trainer that resumes, and a replica that has the whole corpus, must notice."""
    config, path = shards
    config = {**config, "on_bad_shard": "skip",
              "state": {"directory": workplace.path("state"), "snapshot_every": 5}}
    with start(workplace, "whole", config) as daemon:
        whole = received(daemon)
        with Client(daemon.endpoint) as client:
            digest = client.hello().job_digest
    cut(path("heavy-01.bin"))
    with start(workplace, "less", config) as daemon:
        assert received(daemon) != whole
        with ballast_wire.Connection(daemon.endpoint) as connection:
            _, values, _ = connection.ask(
                "GetBatch", request=1, step=0, microbatch=0, cp_rank=0, parts=0,
                deadline_ms=1000, job_digest=digest)
            assert values["status"] == ballast_wire.STATUSES.index("WRONG_JOB")
            assert "left out of heavy: heavy-01.idx is new" in values["message"]


def test_a_good_corpus_is_the_same_job_either_way(shards, workplace):
    config, _ = shards
    with start(workplace, "stop", config) as stop, \
            start(workplace, "skip", {**config, "on_bad_shard": "skip"}) as skip:
        assert received(stop) == received(skip)
        assert stop.status()["job_digest"] == skip.status()["job_digest"]


def test_a_source_without_a_good_shard_is_refused(shards, workplace):
    config, path = shards
    for name in ("light-00.bin", "light-01.idx"):
        os.truncate(path(name), 10)
    path = workplace.write("job", {**config, "on_bad_shard": "skip"})
    done = harness.run([harness.program("ballastd"), "--config", path])
    assert done.returncode == 65
    assert "source light: all of its 2 shards are bad" in done.stderr.decode()


def test_planning_leaves_out_the_same(shards, workplace):
    config, path = shards
    cut(path("heavy-01.bin"))
    job = workplace.write("job", {**config, "on_bad_shard": "skip"})
    planned = harness.plan(job, 2)
    done = harness.run([harness.program("ballastctl"), "plan", "--config", job, "--steps", "1"])
    (told,) = done.stderr.decode().splitlines()
    assert told.startswith("ballastctl: shard left out: ") and "heavy-01.bin" in told
    with harness.Daemon(job) as daemon, Client(daemon.endpoint) as client:
        reply = client.get(1, 0, 0)
        assert reply.status == OK and reply.digest.hex() == planned[1]["digest"]
