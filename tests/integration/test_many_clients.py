"""Eight trainer ranks in eight processes, alone and among peers that misbehave."""
import itertools
import json
import os
import socket
import subprocess
import sys

import pytest

import harness
from nuisance import Nuisance
from wire import (BAD_REQUEST, BAD_VERSION, OK, OUT_OF_RANGE, TIMEOUT, Client, in_order,
                  preamble)

DP, CP, MICROBATCHES, STEPS = 2, 4, 2, 200
HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1024  # KiB


@pytest.fixture
def config(small_corpus):
    return harness.configuration(small_corpus, window=16384, dp=DP, cp=CP,
                                 microbatches=MICROBATCHES, serve={"steps_ahead": 4})


def test_too_few_descriptors_are_told(config, workplace):
    path = workplace.write("job", config)
    with harness.Daemon(path, prefix=["sh", "-c", 'ulimit -n 512; exec "$@"', "sh"]) as daemon:
        line, = [line for line in daemon.stderr().splitlines() if "too few descriptors" in line]
        assert "limit=512" in line and "serve.max_clients" in line
    few = workplace.write("few", {**config, "serve": {"max_clients": 64}})
    with harness.Daemon(few, prefix=["sh", "-c", 'ulimit -n 512; exec "$@"', "sh"]) as daemon:
        assert "too few descriptors" not in daemon.stderr()


def test_who_is_served_stays_so_when_descriptors_run_out(config, workplace):
    path = workplace.write("job", config)
    with harness.Daemon(path, prefix=["sh", "-c", 'ulimit -n 96; exec "$@"', "sh"]) as daemon:
        port = int(daemon.endpoint.rsplit(":", 1)[1])
        with Client(daemon.endpoint) as client:
            expected = [client.get(step, 0, 0).digest for step in range(20)]
            crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
            assert [client.get(step, 0, 0).digest for step in range(20)] == expected
            assert client.get(300, 1, 0).status == OK, "a step not seen before"
            for one in crowd:
                one.close()
        with Client(daemon.endpoint) as late:
            assert late.get(0, 0, 0).digest == expected[0]


def run_all(command):
    """Output of command(dp, cp rank) for every rank, all running at once."""
    processes = [subprocess.Popen(list(map(str, command(dp, cp))), stdout=subprocess.PIPE,
                                  text=True)
                 for dp in range(DP) for cp in range(CP)]
    try:
        outputs = [process.communicate(timeout=2 * harness.DEADLINE_S)[0]
                   for process in processes]
    finally:
        for process in processes:
            process.kill()  # does nothing to one that has ended
    assert all(process.returncode == 0 for process in processes), outputs
    return outputs


def run_ranks(daemon, steps):
    """[hash over all that a rank received, number of its steps] of every rank, in Python."""
    return [output.split() for output in run_all(lambda dp, cp: [
        sys.executable, os.path.join(HERE, "rank_client.py"), daemon.endpoint, dp, cp,
        MICROBATCHES, steps])]


def run_examples(daemon, steps):
    """What the example trainer, on libballast, says of every batch, for every rank."""
    outputs = run_all(lambda dp, cp: [harness.program("train_rank"), "--json", daemon.endpoint,
                                      dp, cp, steps])
    lines = [[json.loads(line) for line in output.splitlines()] for output in outputs]
    assert all(len(rank) == steps * MICROBATCHES + 1 for rank in lines)
    return [rank[:-1] for rank in lines]  # the last line tells of retries and time


@pytest.mark.parametrize("clients", [run_ranks, run_examples])
def test_eight_clients_among_bad_peers(config, workplace, clients):
    path = workplace.write("job", config)
    with harness.Daemon(path) as daemon:
        alone = clients(daemon, STEPS)
    with harness.Daemon(path) as daemon:
        clients(daemon, 10)
        before = daemon.resident_kib()
        with Nuisance(daemon.endpoint) as nuisance:
            disturbed = clients(daemon, STEPS)
            nuisance.await_each(20)
        grown = daemon.resident_kib(peak=True) - before
        assert daemon.alive()
    assert disturbed == alone
    assert all(a != b for a, b in itertools.combinations(alone, 2)), "ranks share data"
    assert grown < harness.memory_allowance(64 * MIB), grown


def test_bad_requests_are_refused_and_counted_by_reason(config, workplace):
    with harness.Daemon(workplace.write("job", config)) as daemon:
        with Client(daemon.endpoint) as client:
            for frame, status in ((b"noise", BAD_REQUEST), (preamble(3, 99), BAD_VERSION),
                                  (preamble(3) + b"\xff" * 50, BAD_REQUEST)):
                client.send(frame)
                kind, values, _ = client.receive()
                assert (kind, values["status"]) == ("Refusal", status)
            assert client.get(0, 0, CP).status == OUT_OF_RANGE
            assert client.get(0, DP * MICROBATCHES, 0).status == OUT_OF_RANGE
            refusals = daemon.status()["refusals"]
            assert client.get(0, 0, 0).status == OK
    assert refusals == {**refusals, "BAD_REQUEST": 2, "BAD_VERSION": 1, "OUT_OF_RANGE": 2}


def test_every_rank_ends_at_the_same_step(small_corpus, config, workplace):
    finite = {**config, "sources": small_corpus.configuration(1), "context_window": 8192,
              "max_sequence_length": 16384}
    path = workplace.write("job", finite)
    steps = len(harness.plan(path, 100000))
    with harness.Daemon(path) as daemon:
        ends = {n for _, n in run_ranks(daemon, steps + 5)}
    assert ends == {str(steps)} and steps > 10


def test_past_steps_give_the_same_bytes(config, workplace):
    wanted = [(step, m, cp) for step in range(0, 60, 7) for m in (0, 3) for cp in (0, 3)]
    with harness.Daemon(workplace.write("job", config)) as daemon:
        with Client(daemon.endpoint) as client:
            first = [reply.frames for reply in in_order(client, wanted)]
            for step in range(60, 120):
                assert client.get(step, 0, 0).status == OK
            backwards = [client.get(*request).frames for request in reversed(wanted)]
    assert backwards[::-1] == first


def test_a_request_ahead_of_the_plan_waits_and_is_answered(config, workplace):
    path = workplace.write("job", config)
    far = 150
    expected = harness.plan(path, 1, "--from", far)[0]["digest"]
    with harness.Daemon(path) as daemon:
        with Client(daemon.endpoint) as client:
            assert client.get(far, 0, 0, deadline_ms=60000).digest.hex() == expected


def test_a_deadline_is_kept(config, workplace):
    with harness.Daemon(workplace.write("job", config)) as daemon:
        with Client(daemon.endpoint) as client:
            assert client.get(10**12, 0, 0, deadline_ms=50).status == TIMEOUT
            assert client.get(0, 0, 0).status == OK


def test_no_default_asks_for_more_memory_than_there_is(workplace, small_corpus):
    """65,536 steps ahead of 4,096 micro-batches of 32,768 tokens would be 17 TB."""
    config = harness.configuration(small_corpus, window=16384, dp=1, microbatches=4096,
                                   serve={"steps_ahead": 65536})
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with harness.Daemon(workplace.write("job", config)) as daemon:
        assert 0 < daemon.status()["cache"]["limit_bytes"] <= memory // 4
