"""The daemon, with every call that could fail failing once, while it starts and while it serves."""
import subprocess
import time

import pytest

import harness
from faults import DESCRIPTORS, EVERY, FULL, IO, MEMORY, NAMES, NONE, SYSEXITS
from harness import ballast_wire
from wire import OK, Client

STARTS = 40 if not harness.sanitizers() else 15  # for each fault
BATCHES = [(microbatch, rank) for microbatch in range(4) for rank in range(2)]
RETRYABLE = [ballast_wire.STATUSES.index(name) for name in ("TIMEOUT", "BUSY", "IO_ERROR")]
IO_ERROR = ballast_wire.STATUSES.index("IO_ERROR")
PATIENCE_MS = 200  # for an answer; one that found no memory does not come
STEPS = 100 if not harness.sanitizers() else 40


def served(endpoint, step, alive=lambda: True):
    """Digest, tables and tokens of every rank of a step, asked again as a client would; None when
    the daemon has ended."""
    frames, wanted, deadline = [], list(BATCHES), time.monotonic() + harness.DEADLINE_S
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
                    assert time.monotonic() < deadline, reply.message
        except (TimeoutError, ballast_wire.StatusError) as silence:
            if not alive():
                return None
            assert time.monotonic() < deadline, silence
    return frames


@pytest.fixture
def config(workplace, small_corpus):
    return harness.configuration(
        small_corpus, window=4096, microbatches=2,
        state={"directory": workplace.path("state"), "snapshot_every": 3})


@pytest.fixture
def stateful(config, workplace):
    return workplace.write("stateful", config)


@pytest.fixture
def reshaped(config, workplace):
    """A job with a ledger, under the configuration that the ledger has come to at step 1."""
    first = workplace.write("first", config)
    path = workplace.write("reshaped", {**config, "long_documents": "drop",
                                        "serve": harness.settings(first)["serve"]})
    with harness.Daemon(first):
        harness.ctl("reshape", "--from-step", 1, "--config", path, "--timeout", "60000")
    return path


def begin(path, control):
    """A daemon under the shim that may end while it starts: then its exit status and errors."""
    try:
        return harness.Daemon(path, environment=control.environment()), None
    except AssertionError as failure:
        return None, str(failure)


@pytest.mark.parametrize("fault", EVERY, ids=NAMES[1:])
def test_starting_the_daemon(control, reshaped, fault):
    """It ends with a line and a status, or it serves what it always does."""
    control.run([harness.program("ballastd"), "--config", reshaped, "--set",
                 "serve.admin=ipc:///no/such/directory/admin"], fault)
    configured = control.count()  # what reading the configuration takes was swept above
    control.arm(fault)
    daemon, failure = begin(reshaped, control)
    assert daemon, failure
    with daemon:
        expected = served(daemon.endpoint, 1)
    calls = range(max(1, configured - 5), control.count() + 1)
    for at in calls[::max(1, len(calls) // STARTS)]:
        control.arm(fault, at)
        start_once(reshaped, control, expected, (NAMES[fault], at))


def start_once(path, control, expected, where):
    """Serves `expected`, or ends with a line and a status; either way it ends as it should."""
    process = subprocess.Popen([harness.program("ballastd"), "--config", path],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=control.environment())
    endpoint = harness.settings(path)["serve"]["endpoint"]
    try:
        received = served(endpoint, 1, lambda: process.poll() is None)
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
                assert values["status"] == IO_ERROR and values["message"], values
        assert daemon.alive() and control.hits() > 0
        control.arm(NONE)
        assert [served(daemon.endpoint, step) for step in range(3)] == before
