"""What users of such systems have reported, where no other test has it (tests/README.md)."""
import time

import pytest

import harness
from harness import ballast_wire
from wire import OK, Client, batches


@pytest.fixture
def config(small_corpus):
    return harness.configuration(small_corpus, window=4096, microbatches=2)


def received(daemon, steps):
    return [(reply.step, reply.microbatch, reply.digest, *reply.frames)
            for reply in batches(daemon.endpoint, steps, range(4), range(2))]


def test_the_first_batch_is_not_kept_waiting_by_the_rest(config, workplace):
    """Megatron-Bridge#1505: packing a million samples first. Here only what is ahead is packed."""
    with harness.Daemon(workplace.write("job", config)) as daemon:
        with Client(daemon.endpoint) as client:
            assert client.get(0, 0, 0).status == OK
        ahead = harness.settings(workplace.path("job.yaml"))["serve"].get("steps_ahead", 8)
        assert daemon.status()["planned_step"] <= ahead


def test_any_number_of_resumes_at_any_step(config, workplace):
    """KempnerForge#57: the second resume skipped 10 instead of 40."""
    config["state"] = {"directory": workplace.path("state"), "snapshot_every": 7}
    with harness.Daemon(workplace.write("plain", {**config, "state": {}})) as plain:
        for start in (0, 10, 40, 41, 15, 90, 7):
            daemon = harness.Daemon(workplace.write("job", config))
            try:
                steps = range(start, start + 5)
                assert received(daemon, steps) == received(plain, steps), start
            finally:
                daemon.kill()


def test_the_rank_that_waits_is_known(config, workplace):
    """ray#64132: is training stalled on data, and which rank?"""
    with harness.Daemon(workplace.write("job", config)) as daemon:
        with ballast_wire.Connection(daemon.endpoint, dp=1, cp=1) as waiting, \
                ballast_wire.Connection(daemon.endpoint, dp=0, cp=0) as idle, \
                ballast_wire.Operator(daemon.serve["admin"]) as operator:
            idle.hello()
            waiting.hello()
            waiting.request(1 << 50, 2, 1, parts=0, deadline_ms=harness.DEADLINE_S * 1000)
            deadline = time.monotonic() + harness.DEADLINE_S
            ranks = {}
            while not ranks.get((1, 1), {}).get("oldest_wait_ms"):
                assert time.monotonic() < deadline
                ranks = {(rank["dp"], rank["cp"]): rank for rank in operator.admin("ranks")}
            assert (ranks[1, 1]["waiting"], ranks[1, 1]["requested_step"]) == (1, 1 << 50)
            assert (ranks[0, 0]["waiting"], ranks[0, 0]["oldest_wait_ms"]) == (0, 0)
