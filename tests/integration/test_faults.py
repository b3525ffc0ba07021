"""Every program, with every call that could fail failing once: it succeeds with the same bytes, or
it ends with a line that says why and a status of sysexits; it never crashes, hangs or leaves half a
file behind."""
import glob
import os
import stat
import subprocess

import pytest

import faults
import harness
from faults import DESCRIPTORS, FULL, INTERRUPTED, IO, MEMORY, NAMES, NONE, SHORT
from harness import ballast_wire
from wire import OK, Client

ctl = harness.program
SYSEXITS = range(64, 79)
HARMLESS = (INTERRUPTED, SHORT)  # what programs must put up with
EVERY = (MEMORY, INTERRUPTED, SHORT, IO, FULL, DESCRIPTORS)
STARTS = 60 if not harness.sanitizers() else 20  # of the daemon, for each fault
MOST_RUNS = 4000 if not harness.sanitizers() else 150  # of one sweep; those left out are spread


@pytest.fixture
def control(workplace):
    if "thread" in harness.sanitizers():
        pytest.skip("the thread sanitizer's runtime does not stand behind a shim")
    with faults.faults(workplace) as found:
        found.run([harness.program("ballastctl"), "--version"], MEMORY)
        if not found.count():
            pytest.skip("this sanitizer's allocator is linked into the program: no shim before it")
        yield found


@pytest.fixture
def job(workplace, small_corpus):
    return workplace.write("job", harness.configuration(small_corpus, window=4096, microbatches=2))


def moments(count):
    """Calls 1 to `count`, or as many of them as there is time for."""
    stride = max(1, -(-count // MOST_RUNS))
    return range(1, count + 1, stride)


def expect_refusal(done, where):
    assert done.returncode in SYSEXITS, (where, done.returncode, done.stderr)
    lines = (done.stderr or done.stdout).decode().splitlines()
    assert lines and all(line.isprintable() for line in lines), (where, done)


def sweep(control, arguments, fault, look=lambda: None, timed=False, **options):
    """Runs the program with each of its calls failing in turn; `look` gives what it has left
    behind, and puts that away. `timed`: what it prints holds times."""
    expected = control.run(arguments, fault, **options)
    assert expected.returncode == 0, expected.stderr
    left = look()
    for at in moments(control.count()):
        where = (NAMES[fault], at)
        done = control.run(arguments, fault, at, **options)
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
    sweep(control, [harness.program("ballastd"), "--config", job, "--check-config"], fault)


@pytest.mark.parametrize("fault", EVERY, ids=NAMES[1:])
def test_verifying(control, small_corpus, fault):
    shards = sorted(glob.glob(small_corpus.configuration(1)[0]["paths"][0]))
    sweep(control, [ctl("ballastctl"), "verify", *shards, "--vocab-size", "65536"], fault)


@pytest.mark.parametrize("fault", (MEMORY, INTERRUPTED, FULL, IO), ids=NAMES.__getitem__)
def test_simulating(control, workplace, job, fault):
    plot = workplace.path("plot.svg")
    sweep(control, [ctl("ballastctl"), "simulate", "--config", job, "--steps", "12", "--policies",
                    "plain,wlb", "--plot", plot], fault, lambda: taken(plot), timed=True)


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


# The daemon

BATCHES = [(microbatch, rank) for microbatch in range(4) for rank in range(2)]
RETRYABLE = [ballast_wire.STATUSES.index(name) for name in ("TIMEOUT", "BUSY", "IO_ERROR")]
IO_ERROR = ballast_wire.STATUSES.index("IO_ERROR")
PATIENCE_MS = 200  # for an answer; one that found no memory does not come
TRIES = 40
STEPS = 200 if not harness.sanitizers() else 40


def served(endpoint, step, alive=lambda: True):
    """Digest, tables and tokens of every rank of a step, asked again as a client would; None when
    the daemon has ended."""
    frames, wanted, tries = [], list(BATCHES), 0
    while wanted:
        try:
            with Client(endpoint) as client:
                client.timeout_ms = PATIENCE_MS
                while wanted:
                    reply = client.get(step, *wanted[0])
                    if reply.status == OK:
                        frames += [reply.digest, *reply.frames]
                        wanted.pop(0)
                        continue
                    assert reply.status in RETRYABLE, (reply.status, reply.message)
                    assert reply.message
                    tries += 1
                    assert tries < TRIES, reply.message
        except (TimeoutError, ballast_wire.StatusError) as silence:
            if not alive():
                return None
            tries += 1
            assert tries < TRIES, silence
    return frames


@pytest.fixture
def stateful(workplace, small_corpus):
    config = harness.configuration(
        small_corpus, window=4096, microbatches=2,
        state={"directory": workplace.path("state"), "snapshot_every": 3})
    return workplace.write("stateful", config)


def begin(path, control):
    """A daemon under the shim that may end while it starts: then its exit status and errors."""
    try:
        return harness.Daemon(path, environment=control.environment()), None
    except AssertionError as failure:
        return None, str(failure)


@pytest.mark.parametrize("fault", EVERY, ids=NAMES[1:])
def test_starting_the_daemon(control, stateful, fault):
    """It ends with a line and a status, or it serves what it always does."""
    control.run([harness.program("ballastd"), "--config", stateful, "--set",
                 "serve.admin=ipc:///no/such/directory/admin"], fault)
    configured = control.count()  # what reading the configuration takes was swept above
    control.arm(fault)
    daemon, failure = begin(stateful, control)
    assert daemon, failure
    with daemon:
        expected = served(daemon.endpoint, 0)
    calls = range(max(1, configured - 5), control.count() + 1)
    for at in calls[::max(1, len(calls) // STARTS)]:
        control.arm(fault, at)
        start_once(stateful, control, expected, (NAMES[fault], at))


def start_once(path, control, expected, where):
    """Serves `expected`, or ends with a line and a status; either way it ends as it should."""
    process = subprocess.Popen([harness.program("ballastd"), "--config", path],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=control.environment())
    endpoint = harness.settings(path)["serve"]["endpoint"]
    try:
        received = served(endpoint, 0, lambda: process.poll() is None)
        assert received is None or received == expected, where
    finally:
        ended = process.poll() is not None
        if not ended:
            process.terminate()
        _, errors = process.communicate(timeout=harness.DEADLINE_S)
    assert not harness.SANITIZER.search(errors.decode()), errors.decode()
    assert process.returncode in (SYSEXITS if ended else (0,)), (where, errors)


@pytest.mark.parametrize("fault", EVERY, ids=NAMES[1:])
def test_serving(control, workplace, stateful, fault):
    """Each step is served with another of the calls that serving it takes failing."""
    control.arm(NONE)
    plain = workplace.write("plain", {**harness.settings(stateful), "state": {}, "serve": {}})
    with harness.Daemon(plain) as undisturbed, \
            harness.Daemon(stateful, environment=control.environment()) as daemon:
        assert served(daemon.endpoint, 0) == served(undisturbed.endpoint, 0)
        for step in range(1, STEPS):
            control.arm(fault, step)
            received = served(daemon.endpoint, step, daemon.alive)
            assert received == served(undisturbed.endpoint, step), (NAMES[fault], step)
        for step in range(STEPS):
            control.arm(fault)
            assert served(daemon.endpoint, step) == served(undisturbed.endpoint, step)
        with ballast_wire.Operator(daemon.serve["admin"]) as operator:
            assert operator.admin("snapshot")["step"] > 0, "the disk is well again"


@pytest.mark.parametrize("fault", (MEMORY, IO, FULL, DESCRIPTORS), ids=NAMES.__getitem__)
def test_serving_while_nothing_works(control, workplace, stateful, fault):
    """What fails goes on failing; when it is over, so is the trouble."""
    control.arm(NONE)
    with harness.Daemon(stateful, environment=control.environment()) as daemon:
        before = [served(daemon.endpoint, step) for step in range(3)]
        control.arm(fault, 1, goes_on=True)
        for step in (50, 0, 100):
            with Client(daemon.endpoint) as client:
                client.timeout_ms = PATIENCE_MS
                try:
                    reply = client.get(step, 0, 0, deadline_ms=PATIENCE_MS // 2)
                    assert reply.status in (OK, *RETRYABLE), reply.message
                except (TimeoutError, ballast_wire.StatusError):
                    pass  # no memory, not even for an answer
        if fault != MEMORY:
            with ballast_wire.Operator(daemon.serve["admin"]) as operator:
                _, values, _ = operator.ask("Admin", command="snapshot", arguments=[])
                assert values["status"] == IO_ERROR and "state.directory" in values["message"] \
                    or ".snapshot" in values["message"], values
        assert daemon.alive() and control.hits() > 0
        control.arm(NONE)
        assert [served(daemon.endpoint, step) for step in range(3)] == before
