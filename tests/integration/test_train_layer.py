"""A layer trained over CP ranks on what a daemon serves, its attention on emulated devices: the
gradients of the ranks are those of the whole. The program compares them itself."""
import re

import pytest

import corpora
import harness

WINDOW = 256
LINE = re.compile(r"step (\d+) tokens (\d+) loss (\S+) differs (\S+) gradients differ (\S+)")


def train(daemon, *steps):
    """(step, tokens, loss, difference of loss, of gradients) of every step."""
    done = harness.run([harness.program("train_layer"), daemon.endpoint, *map(str, steps)])
    assert done.returncode == 0, done.stderr.decode()
    return [tuple(map(float, LINE.fullmatch(line).groups()))
            for line in done.stdout.decode().splitlines()]


def job(corpus, sharding, cp, epochs="repeat"):
    return harness.configuration(corpus, window=WINDOW, dp=1, microbatches=2, cp=cp,
                                 epochs=epochs, sharding={"strategy": sharding})


@pytest.mark.parametrize("sharding, cp", [("adaptive", 2), ("hybrid", 2), ("per-sequence", 4)])
def test_gradients_of_ranks_are_those_of_the_whole(small_corpus, workplace, sharding, cp):
    path = workplace.write("job", job(small_corpus, sharding, cp))
    plan = harness.plan(path, 3)
    with harness.Daemon(path) as daemon:
        steps = train(daemon, 3)
    assert [(step, tokens) for step, tokens, *_ in steps] == [
        (step["step"], step["tokens"]) for step in plan]
    assert all(0 <= gradients < 1e-3 and loss < 1e-6 for *_, loss, gradients in steps)


def test_every_rank_ends_with_the_data(workplace, tmp_path):
    corpus = corpora.generated(str(tmp_path), documents=2, longest=150)
    path = workplace.write("job", job(corpus, "adaptive", 2, epochs=1))
    with harness.Daemon(path) as daemon:
        steps = train(daemon)
    assert [step for step, *_ in steps] == [line["step"] for line in harness.plan(path, 1000)]


@pytest.mark.parametrize("arguments", [[], ["tcp://127.0.0.1:1", "x"], ["a", "1", "2"],
                                       ["tcp://127.0.0.1:1", "0"]])
def test_wrong_usage(arguments):
    done = harness.run([harness.program("train_layer"), *arguments])
    assert done.returncode == 2 and b"usage: train_layer" in done.stderr
