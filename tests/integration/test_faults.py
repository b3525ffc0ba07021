"""Every program, with every call that could fail failing once: it succeeds with the same bytes, or
it ends with a line that says why and a status of sysexits; it never crashes, hangs or leaves half a
file behind."""
import glob
import os
import stat

import pytest

import harness
from faults import EVERY, FULL, HARMLESS, INTERRUPTED, IO, MEMORY, NAMES, SYSEXITS

ctl = harness.program
MOST_RUNS = 4000 if not harness.sanitizers() else 150  # of one sweep; those left out are spread


@pytest.fixture
def job(workplace, small_corpus):
    return workplace.write("job", harness.configuration(small_corpus, window=4096, microbatches=2))


def moments(count, most=MOST_RUNS):
    """Calls 1 to `count`, or `most` of them."""
    stride = max(1, -(-count // most))
    return range(1, count + 1, stride)


def expect_refusal(done, where):
    assert done.returncode in SYSEXITS, (where, done.returncode, done.stderr)
    lines = (done.stderr or done.stdout).decode().splitlines()
    assert lines and all(line.isprintable() for line in lines), (where, done)


def sweep(control, arguments, fault, look=lambda: None, timed=False, most=MOST_RUNS):
    """Runs the program with each of its calls failing in turn; `look` gives what it has left
    behind, and puts that away. `timed`: what it prints holds times."""
    expected = control.run(arguments, fault)
    assert expected.returncode == 0, expected.stderr
    left = look()
    for at in moments(control.count(), most):
        where = (NAMES[fault], at)
        done = control.run(arguments, fault, at)
        found = look()
        if done.returncode == 0:
            assert (timed or done.stdout == expected.stdout) and found == left, where
            continue
        assert fault not in HARMLESS, (where, done.stderr)
        expect_refusal(done, where)
        assert not found or found == left, (where, found.keys())


@pytest.mark.parametrize("fault", EVERY, ids=NAMES[1:])
def test_planning(control, job, fault):
    sweep(control, [ctl("ballastctl"), "plan", "--config", job, "--steps", "2", "--json"], fault)


@pytest.mark.parametrize("fault", EVERY, ids=NAMES[1:])
def test_checking_a_configuration(control, job, fault):
    sweep(control, [harness.program("ballastd"), "--config", job, "--check-config"], fault,
          most=500)


@pytest.mark.parametrize("fault", EVERY, ids=NAMES[1:])
def test_verifying(control, small_corpus, fault):
    shards = sorted(glob.glob(small_corpus.configuration(1)[0]["paths"][0]))
    sweep(control, [ctl("ballastctl"), "verify", *shards, "--vocab-size", "65536"], fault)


@pytest.mark.parametrize("fault", (MEMORY, INTERRUPTED, FULL, IO), ids=NAMES.__getitem__)
def test_simulating(control, workplace, job, fault):
    plot = workplace.path("plot.svg")
    sweep(control, [ctl("ballastctl"), "simulate", "--config", job, "--steps", "12", "--policies",
                    "plain,wlb", "--plot", plot], fault, lambda: taken(plot), timed=True, most=500)


def taken(*paths):
    """Contents and modes of these files and of whatever lies beside them under a name that begins
    alike; they are removed."""
    found = {}
    for path in paths:
        folder, name = os.path.split(path)
        for other in sorted(os.listdir(folder)):
            if not other.startswith(name):
                continue
            whole = os.path.join(folder, other)
            with open(whole, "rb") as file:
                found[other] = (file.read(), stat.S_IMODE(os.stat(whole).st_mode))
            os.unlink(whole)
    return found


@pytest.mark.parametrize("fault", EVERY, ids=NAMES[1:])
def test_importing(control, workplace, fault):
    os.mkdir(workplace.path("text"))
    for number in range(3):
        with open(workplace.path(f"text/{number}"), "wb") as file:
            file.write(b"some words " * (1000 * number + 1))
    out = workplace.path("imported")
    sweep(control, [ctl("ballastctl"), "import", "--out", out, workplace.path("text")], fault,
          lambda: taken(out))


@pytest.mark.parametrize("fault", EVERY, ids=NAMES[1:])
def test_making_keys(control, workplace, fault):
    out = workplace.path("pair")

    def look():
        """Keys differ from run to run; what counts is that there are two, and who may read them."""
        return {name: mode for name, (_, mode) in taken(out).items()}

    arguments = [ctl("ballastctl"), "keygen", "--out", out]
    done = control.run(arguments, fault)
    if b"CURVE" in done.stderr:
        pytest.skip("this libzmq has no CURVE")
    pair = look()
    assert sorted(pair.values()) == [0o600, 0o644]
    for at in moments(control.count()):
        done, found = control.run(arguments, fault, at), look()
        if done.returncode == 0:
            assert found == pair, (NAMES[fault], at)
            continue
        assert fault not in HARMLESS, (NAMES[fault], at, done.stderr)
        expect_refusal(done, (NAMES[fault], at))
        assert not found or found == pair, (NAMES[fault], at, found)


@pytest.mark.parametrize("fault", EVERY, ids=NAMES[1:])
def test_fetching(control, workplace, job, fault):
    """The client library, in a program that fetches one batch."""
    out = workplace.path("tokens")
    with harness.Daemon(job) as daemon:
        sweep(control, [ctl("ballastctl"), "fetch", "--endpoint", daemon.endpoint, "--step", "1",
                        "--microbatch", "1", "--cp-rank", "1", "--json", "--out", out,
                        "--timeout", "20000"], fault, lambda: taken(out))
