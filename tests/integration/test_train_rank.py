"""Trainer ranks in C, over libballast, against real daemons: what they receive is what is planned,
whatever happens to the daemons meanwhile."""
import json
import subprocess

import pytest

import harness

STEPS = 40
RANKS = [(dp, cp) for dp in range(2) for cp in range(2)]


def command(endpoints, dp, cp, *arguments):
    return [harness.program("train_rank"), "--json", *map(str, arguments), endpoints, str(dp),
            str(cp)]


def lines_of(text):
    """(micro-batches, totals) of what train_rank --json printed."""
    lines = [json.loads(line) for line in text.splitlines()]
    return lines[:-1], lines[-1]


def train(endpoints, dp, cp, steps, *arguments):
    done = harness.run([*command(endpoints, dp, cp, *arguments), str(steps)])
    assert done.returncode == 0, done.stderr.decode()
    return lines_of(done.stdout.decode())


def expected(plan, dp, cp):
    """What the plan has for a rank, in the words of train_rank."""
    for step in plan:
        for m in (m for m in step["microbatches"] if m["dp"] == dp):
            yield {"step": step["step"], "slot": m["slot"], "microbatch": m["index"],
                   "tokens": m["ranks"][cp]["tokens"], "pieces": len(m["pieces"]),
                   "chunks": len(m["ranks"][cp]["chunks"]), "digest": step["digest"]}


@pytest.fixture
def config(small_corpus):
    return harness.configuration(small_corpus, window=8192)


def test_ranks_receive_what_is_planned(config, workplace):
    path = workplace.write("job", config)
    plan = harness.plan(path, STEPS)
    with harness.Daemon(path) as daemon:
        for dp, cp in RANKS:
            received, totals = train(daemon.endpoint, dp, cp, STEPS)
            wanted = list(expected(plan, dp, cp))
            assert [{key: line[key] for key in wanted[0]} for line in received] == wanted
            assert totals["steps"] == STEPS and totals["failovers"] == 0
            assert totals["tokens"] == sum(line["tokens"] for line in wanted)
        ranks = {(rank["dp"], rank["cp"]): rank for rank in operator_ranks(daemon)}
        assert sorted(ranks) == RANKS
        # The last ACK may be lost: a client that closes waits for nothing.
        assert all(rank["acked_step"] >= STEPS - 2 for rank in ranks.values())


def operator_ranks(daemon):
    with harness.ballast_wire.Operator(daemon.serve["admin"]) as operator:
        return operator.admin("ranks")


def test_every_rank_ends_at_the_same_step(small_corpus, workplace):
    config = harness.configuration(small_corpus, window=65536, epochs=1)
    path = workplace.write("job", config)
    plan = harness.plan(path, 1 << 20)
    with harness.Daemon(path) as daemon:
        for dp, cp in RANKS:
            received, totals = train(daemon.endpoint, dp, cp, 1 << 40)
            assert totals["steps"] == len(plan)
            assert received[-1]["step"] == plan[-1]["step"]


def test_kill_of_a_daemon_while_another_serves(config, workplace):
    first = harness.Daemon(workplace.write("first", config))
    try:
        with harness.Daemon(workplace.write("second", config)) as second:
            undisturbed, _ = train(second.endpoint, 1, 0, 400)
            received, totals = train_until_killed(first, f"{first.endpoint},{second.endpoint}", 400)
            assert totals["failovers"] == 1
            assert received == undisturbed
    finally:
        if first.alive():
            first.kill()


def test_kill_and_restart_of_the_only_daemon(config, workplace):
    path = workplace.write("job", config)
    with harness.Daemon(path) as daemon:
        undisturbed, _ = train(daemon.endpoint, 1, 0, 400)
    first = harness.Daemon(path)
    rank = start_and_kill(first, first.endpoint, 400)
    with harness.Daemon(path):
        received, totals = finish(rank)
    assert totals["failovers"] == 0
    assert received == undisturbed


def start_and_kill(daemon, endpoints, steps):
    """A rank whose daemon is killed after its first 100 micro-batches: (process, what it said)."""
    # Unbuffered: `communicate` would not see what a buffer had read beyond the lines taken here.
    process = subprocess.Popen([*command(endpoints, 1, 0), str(steps)], bufsize=0,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = [process.stdout.readline() for _ in range(100)]
    daemon.kill()
    return process, said


def finish(rank):
    process, said = rank
    rest, errors = process.communicate(timeout=harness.DEADLINE_S)
    assert process.returncode == 0, errors.decode()
    assert not harness.SANITIZER.search(errors.decode()), errors.decode()
    return lines_of((b"".join(said) + rest).decode())


def train_until_killed(daemon, endpoints, steps):
    return finish(start_and_kill(daemon, endpoints, steps))


def test_resume_with_the_digest_of_a_checkpoint(config, workplace):
    path = workplace.write("job", config)
    with harness.Daemon(path) as daemon:
        whole, _ = train(daemon.endpoint, 0, 1, 20)
        digests = {line["step"]: line["digest"] for line in whole}
        rest, _ = train(daemon.endpoint, 0, 1, 10, "--first-step", 10, "--digest", digests[9])
        assert rest == [line for line in whole if line["step"] >= 10]
        refused = harness.run([*command(daemon.endpoint, 0, 1, "--first-step", 10, "--digest",
                                        digests[8]), "10"])
        assert refused.returncode == 1 and not refused.stdout
        assert b"digest of step 9" in refused.stderr
        start, _ = train(daemon.endpoint, 0, 1, 1, "--digest", daemon.status()["job_digest"])
        assert start == whole[:4]


@pytest.mark.parametrize("arguments", [
    [], ["tcp://127.0.0.1:1"], ["tcp://127.0.0.1:1", "0", "x"], ["nowhere", "0", "0"],
    ["--prefetch", "65", "tcp://127.0.0.1:1", "0", "0"], ["--digest", "12", "tcp://x:1", "0", "0"]])
def test_wrong_usage(arguments):
    done = harness.run([harness.program("train_rank"), *arguments])
    assert done.returncode == 2 and done.stderr
