"""One data order: whoever plans it, with however many threads, before and after any crash."""
import hashlib
import os

import pytest

import harness
from wire import Client, batches

STEPS = 40


def digests(plan):
    return [step["digest"] for step in plan]


def served(daemon, steps, cp=2):
    """(digest of every step, hash over every payload) as a daemon serves them."""
    chain, data = {}, hashlib.sha256()
    for reply in batches(daemon.endpoint, steps, range(8), range(cp)):
        chain[reply.step] = reply.digest.hex()
        for frame in reply.frames:
            data.update(frame)
    return [chain[step] for step in steps], data.hexdigest()


@pytest.fixture
def config(small_corpus):
    return harness.configuration(small_corpus, window=8192)


def test_two_processes_plan_the_same(config, workplace):
    path = workplace.write("job", config)
    first, second = harness.plan(path, STEPS), harness.plan(path, STEPS)
    assert len(first) == STEPS and first == second
    assert len(set(digests(first))) == STEPS


def test_planning_from_the_middle_is_the_same(config, workplace):
    path = workplace.write("job", config)
    whole = harness.plan(path, STEPS)
    assert harness.plan(path, STEPS - 15, "--from", 15) == whole[15:]


@pytest.mark.parametrize("change", [
    {"seed": 1235}, {"packing": {"policy": "wlb", "outlier_thresholds": [3000]}},
    {"sharding": {"strategy": "per-sequence"}}, {"context_window": 8191}])
def test_another_order_has_another_digest(config, workplace, change):
    one = harness.plan(workplace.write("one", config), 3)
    other = harness.plan(workplace.write("other", {**config, **change}), 3)
    assert not set(digests(one)) & set(digests(other))


def test_gather_threads_change_nothing(config, workplace):
    expected = digests(harness.plan(workplace.write("plan", config), STEPS))
    results = []
    for threads in (1, 4):
        path = workplace.write(f"t{threads}", {**config, "serve": {"gather_threads": threads}})
        with harness.Daemon(path) as daemon:
            results.append(served(daemon, range(STEPS)))
    assert results[0] == results[1]
    assert results[0][0] == expected


def test_kill_and_restart_in_the_middle(config, workplace):
    path = workplace.write("job", config)
    expected = digests(harness.plan(path, STEPS))
    with harness.Daemon(path) as daemon:
        whole = [served(daemon, range(a, a + 10)) for a in range(0, STEPS, 10)]
    first = harness.Daemon(path)
    try:
        before = [served(first, range(a, a + 10)) for a in (0, 10)]
    finally:
        first.kill()
    with harness.Daemon(path) as second:
        after = [served(second, range(a, a + 10)) for a in (20, 30)]
        again = served(second, range(10))
    assert before + after == whole and again == whole[0]
    assert [digest for part, _ in whole for digest in part] == expected


def test_the_job_digest_is_that_of_every_daemon(config, workplace):
    facts = []
    for name in ("a", "b"):
        with harness.Daemon(workplace.write(name, config)) as daemon:
            with Client(daemon.endpoint) as client:
                facts.append(client.hello())
    assert facts[0].job_digest == facts[1].job_digest and len(facts[0].job_digest) == 16


@pytest.fixture
def other_build():
    """A build directory of another compiler."""
    found = os.environ.get("BALLAST_OTHER_BUILD")
    return found or pytest.skip("BALLAST_OTHER_BUILD names no second build directory")


@pytest.mark.parametrize("cost", [{"crossover_tokens": 24576}, {"model": {
    "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336, "vocab": 128256,
    "tp": 8, "tflops": 412.7}}])
def test_another_compilers_build_plans_the_same(config, workplace, other_build, cost):
    path = workplace.write("job", {**config, "cost": cost})
    assert harness.plan(path, STEPS) == harness.plan(path, STEPS, build=other_build)


def test_another_compilers_build_serves_the_same(config, workplace, other_build):
    path = workplace.write("job", config)
    with harness.Daemon(path) as one:
        here = served(one, range(10))
    with harness.Daemon(path, build=other_build) as two:
        assert served(two, range(10)) == here
