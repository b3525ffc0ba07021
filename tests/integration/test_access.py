"""Who may connect to a daemon with a secret key: good, unknown, expired and removed keys, clients
without CURVE, wrong server keys, operators' commands, and a handshake that was recorded."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest
import zmq

import harness
from harness import ballast_wire

FAR = "2999-12-31"
PAST = "2020-02-29"


class Keys:
    """Pairs made by `ballastctl keygen`, and the list of them."""

    def __init__(self, place):
        self.place = place
        self.lines = {}

    def make(self, name):
        made = json.loads(harness.ctl("keygen", "--out", self.place.path(name), "--json"))
        assert made["public_key_file"] == self.pub(name)
        return made["public_key"]

    def add(self, name, role="trainer", *expires):
        self.lines[name] = " ".join([self.make(name), role, name, *expires])

    def write(self):
        with open(self.place.path("clients"), "w", encoding="ascii") as file:
            file.write("# who may connect\n\n" + "\n".join(self.lines.values()) + "\n")

    def pub(self, name):
        return self.place.path(name) + ".pub"

    def key(self, name):
        return self.place.path(name) + ".key"

    def texts(self, name):
        """(public, secret) as ZeroMQ takes them."""
        texts = []
        for path in (self.pub(name), self.key(name)):
            with open(path, "rb") as file:
                texts.append(file.read().split()[-1])
        return tuple(texts)

    def curve(self, name, server="server"):
        return (self.texts(server)[0], *self.texts(name))

    def options(self, name, server="server"):
        return ["--key", self.key(name), "--server-key", self.pub(server)]


@pytest.fixture
def keys(workplace):
    keys = Keys(workplace)
    keys.make("server")
    keys.make("stranger")
    keys.make("other-server")
    keys.add("rank", "trainer", FAR)
    keys.add("late", "trainer", PAST)
    keys.add("boss", "operator")
    keys.write()
    return keys


@pytest.fixture
def config(small_corpus, workplace, keys):
    return workplace.write("job", harness.configuration(
        small_corpus, window=8192,
        access={"curve_secret_key": keys.key("server"), "clients": workplace.path("clients")}))


@pytest.fixture
def remote_config(small_corpus, workplace, keys):
    """The same with the admin socket on the network."""
    return workplace.write("job", harness.configuration(
        small_corpus, window=8192, serve={"admin": f"tcp://127.0.0.1:{harness.free_port()}"},
        access={"curve_secret_key": "server.key", "clients": "clients"}))


def run(command, *arguments):
    """(exit status, standard output, standard error) of a ballastctl."""
    done = harness.run([harness.program("ballastctl"), command, *map(str, arguments)])
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def fetch(daemon, *options, timeout_ms=20000):
    return run("fetch", "--endpoint", daemon.endpoint, "--step", 0, "--microbatch", 0, "--cp-rank",
               0, "--timeout", timeout_ms, "--json", *options)


def await_refusals(daemon, reason, count=1):
    """Refusals come to the daemon's ears a moment after they come to the client's."""
    end = time.monotonic() + harness.DEADLINE_S
    while True:
        refusals = daemon.status()["refusals"]
        if refusals.get(reason, 0) >= count:
            return refusals
        assert time.monotonic() < end, (reason, refusals)
        assert daemon.alive()
        time.sleep(0.02)


def serving(config, keys):
    return harness.Daemon(config, curve=keys.curve("rank"))


def test_a_key_on_the_list_is_served_and_named(config, keys):
    with serving(config, keys) as daemon:
        code, out, err = fetch(daemon, *keys.options("rank"))
        assert (code, err) == (0, "") and json.loads(out)["step"] == 0
        with ballast_wire.Operator(daemon.serve["admin"]) as operator:
            assert {rank["user"] for rank in operator.admin("ranks")} == {"rank"}
        assert ", key of rank" in harness.ctl("ranks", "--config", config)
        refusals = daemon.status()["refusals"]
        assert not [name for name in refusals if name.startswith("denied")], refusals


@pytest.mark.parametrize("options, reason, words", [
    ("stranger", "denied_unknown_key", "does not take our key"),
    ("late", "denied_expired", "does not take our key"),
    (("rank", "other-server"), "denied_handshake", "is server_key that of this daemon?")])
def test_who_is_refused_is_told_and_counted(config, keys, options, reason, words):
    names = (options,) if isinstance(options, str) else options
    with serving(config, keys) as daemon:
        before = time.monotonic()
        code, out, err = fetch(daemon, *keys.options(*names), timeout_ms=1500)
        assert (code, out) == (77, "") and words in err, (code, err)
        assert time.monotonic() - before < harness.DEADLINE_S
        await_refusals(daemon, reason)
        assert fetch(daemon, *keys.options("rank"))[0] == 0


def refused_at_the_door(daemon):
    """Which of the two notices first that only one speaks CURVE is a race; one of them does."""
    refusals = daemon.status()["refusals"]
    return refusals.get("denied_plaintext", 0) + refusals.get("denied_handshake", 0)


def test_a_client_without_curve_is_told_and_counted(config, keys):
    with serving(config, keys) as daemon:
        code, out, err = fetch(daemon, timeout_ms=3000)
        assert (code, out) == (77, ""), (code, err)
        assert "demands CURVE" in err and "give keys" in err
        end = time.monotonic() + harness.DEADLINE_S
        while not refused_at_the_door(daemon):
            assert time.monotonic() < end
        # A greeting of ZMTP 3.0 that waits for the daemon to close.
        before = daemon.status()["refusals"].get("denied_plaintext", 0)
        greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
        answer = replayed(int(daemon.endpoint.rsplit(":", 1)[1]), greeting)
        assert len(answer) <= 64
        await_refusals(daemon, "denied_plaintext", before + 1)
        assert fetch(daemon, *keys.options("rank"))[0] == 0


def test_a_client_with_keys_at_a_daemon_without(small_corpus, workplace, keys):
    path = workplace.write("open", harness.configuration(small_corpus, window=8192))
    with harness.Daemon(path) as daemon:
        code, _, err = fetch(daemon, *keys.options("rank"), timeout_ms=1500)
        assert code == 77 and ("speaks no CURVE" in err or "is server_key that" in err), err
        assert fetch(daemon)[0] == 0


def test_an_operators_key_serves_commands_and_no_batches(remote_config, keys):
    daemon = serving(remote_config, keys)
    daemon.status = lambda: json.loads(harness.ctl(
        "status", "--config", remote_config, "--json", *keys.options("boss")))
    with daemon:
        for command in (["status"], ["queues"], ["ranks"], ["sources"], ["step", 0]):
            assert run(*command, "--config", remote_config, *keys.options("boss"))[0] == 0
        code, _, err = fetch(daemon, *keys.options("boss"))
        assert code == 77 and "role trainer" in err
        assert await_refusals(daemon, "denied_role")["denied_role"] == 1


@pytest.mark.parametrize("command", [
    ["status"], ["queues"], ["ranks"], ["sources"], ["step", 0], ["drain"]])
def test_no_command_takes_a_trainers_key(remote_config, keys, command):
    daemon = serving(remote_config, keys)
    daemon.status = lambda: json.loads(harness.ctl(
        "status", "--config", remote_config, "--json", *keys.options("boss")))
    with daemon:
        code, out, err = run(*command, "--config", remote_config, *keys.options("rank"))
        assert (code, out) == (77, "") and "role operator" in err, err
        assert await_refusals(daemon, "denied_role")["denied_role"] == 1
        for options in ([], keys.options("stranger"), keys.options("late"),
                        keys.options("boss", "other-server")):
            code, out, err = run(*command, "--config", remote_config, *options)
            assert (code, out) == (77, ""), err
        for reason in ("unknown_key", "expired", "handshake"):
            await_refusals(daemon, "denied_" + reason)
        assert daemon.status()["state"] == "serving"


def reload(daemon, line):
    """SIGHUP; returns when the daemon has said what came of it."""
    seen = daemon.stderr().count(line)
    daemon.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + harness.DEADLINE_S
    while daemon.stderr().count(line) == seen:
        assert time.monotonic() < end, daemon.stderr()
        time.sleep(0.02)


def test_a_reload_adds_and_removes_keys(config, keys):
    with serving(config, keys) as daemon:
        with ballast_wire.Connection(daemon.endpoint, curve=keys.curve("rank")) as old:
            assert old.ask("Hello", rank={}, client="x")[0] == "HelloReply"
            assert fetch(daemon, *keys.options("stranger"), timeout_ms=3000)[0] == 77
            del keys.lines["rank"]
            keys.lines["stranger"] = keys.texts("stranger")[0].decode() + " trainer stranger"
            keys.write()
            reload(daemon, "list of clients read again")
            assert fetch(daemon, *keys.options("stranger"))[0] == 0
            assert fetch(daemon, *keys.options("rank"), timeout_ms=3000)[0] == 77
            kind, values, _ = old.ask("Hello", rank={}, client="x")
            assert (kind, ballast_wire.status_name(values["status"])) == ("Refusal", "DENIED")
        refusals = daemon.status()["refusals"]
        assert refusals["denied_removed_key"] == 1 and refusals["denied_unknown_key"] >= 2


def test_a_key_takes_no_more_places_than_it_may(small_corpus, workplace, keys):
    keys.add("other")
    keys.write()
    path = workplace.write("job", harness.configuration(small_corpus, window=8192, access={
        "curve_secret_key": keys.key("server"), "clients": workplace.path("clients"),
        "max_clients_per_key": 3}))
    with serving(path, keys) as daemon, contextlib.ExitStack() as links:
        daemon.curve = keys.curve("other")

        def hello(name):
            link = links.enter_context(
                ballast_wire.Connection(daemon.endpoint, curve=keys.curve(name)))
            _, values, _ = link.ask("Hello", rank={"tp": len(seen)}, client=name)
            seen.append(ballast_wire.status_name(values["status"]))
            return values["message"]

        seen = []  # the first of rank's places is the harness's
        hello("rank")
        hello("rank")
        assert "access.max_clients_per_key" in hello("rank")
        hello("other")
        assert seen == ["OK", "OK", "BUSY", "OK"]


def test_a_reload_that_ends_a_keys_time(config, keys):
    """No new handshake; who is connected goes on, so that no run dies at midnight."""
    with serving(config, keys) as daemon:
        with ballast_wire.Connection(daemon.endpoint, curve=keys.curve("rank")) as old:
            assert old.ask("Hello", rank={}, client="x")[0] == "HelloReply"
            keys.lines["rank"] = keys.lines["rank"].replace(FAR, PAST)
            keys.write()
            reload(daemon, "list of clients read again")
            code, _, err = fetch(daemon, *keys.options("rank"), timeout_ms=3000)
            assert code == 77 and "not expired?" in err
            assert old.ask("Hello", rank={}, client="x")[0] == "HelloReply"
        await_refusals(daemon, "denied_expired")


@pytest.mark.parametrize("text", ["", "# nobody\n", "key trainer name\n", None])
def test_a_bad_new_list_leaves_the_old_one(config, keys, text):
    path = keys.place.path("clients")
    with serving(config, keys) as daemon:
        if text is None:
            os.remove(path)
        else:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        reload(daemon, "the list of clients is bad, the one read before still holds")
        assert path in daemon.stderr().split("the list of clients is bad")[1]
        assert fetch(daemon, *keys.options("rank"))[0] == 0
        assert fetch(daemon, *keys.options("stranger"), timeout_ms=3000)[0] == 77


class Recorder:
    """Passes one connection through and keeps what the client sent."""

    def __init__(self, port):
        self.port, self.bytes, self.answered = port, b"", 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        client, _ = self.listener.accept()
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            back = threading.Thread(target=self.pass_back, args=(server, client))
            back.start()
            while piece := client.recv(65536):
                self.bytes += piece
                server.sendall(piece)
            server.shutdown(socket.SHUT_WR)
            back.join()

    def pass_back(self, server, client):
        try:
            while piece := server.recv(65536):
                self.answered += len(piece)
                client.sendall(piece)
        except OSError:
            pass

    def close(self):
        self.thread.join()
        self.listener.close()


def replayed(port, data):
    """Everything that comes back when `data` is sent to the daemon again."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) as link:
        try:
            link.sendall(data)
            while piece := link.recv(65536):
                answer += piece
        except ConnectionError:
            pass
    return answer


def test_a_recorded_handshake_is_worth_nothing(config, keys):
    with serving(config, keys) as daemon:
        port = int(daemon.endpoint.rsplit(":", 1)[1])
        recorder = Recorder(port)
        with ballast_wire.Connection(recorder.endpoint, curve=keys.curve("rank")) as connection:
            connection.hello()
            connection.send(ballast_wire.encode(
                "GetBatch", request=1, step=0, parts=ballast_wire.ALL_PARTS, deadline_ms=60000))
            assert connection.receive(timeout_ms=60000)[0] == "Batch"
        recorder.close()
        assert b"BLST" not in recorder.bytes, "nothing is readable on the way"
        before = daemon.status()
        answer = replayed(port, recorder.bytes)
        # A greeting and WELCOME of a few hundred bytes, with a new cookie: no READY, no data.
        assert b"READY" not in answer and len(answer) < 512 < recorder.answered
        after = await_refusals(daemon, "denied_handshake",
                               before["refusals"].get("denied_handshake", 0) + 1)
        assert daemon.status()["batches"] == before["batches"] and after


# What is refused before anything is served


def start(path):
    done = harness.run([harness.program("ballastd"), "--config", path])
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_secret_key_that_others_may_read_is_refused(config, keys, mode):
    os.chmod(keys.key("server"), mode)
    code, err = start(config)
    assert code == 78 and f"chmod 600 {keys.key('server')}" in err
    os.chmod(keys.key("rank"), mode)
    code, _, err = run("status", "--config", config, *keys.options("rank"))
    assert code == 78 and f"chmod 600 {keys.key('rank')}" in err


def test_a_list_that_anybody_may_write_is_refused(config, keys):
    os.chmod(keys.place.path("clients"), 0o646)
    code, err = start(config)
    assert code == 78 and "chmod o-w" in err


@pytest.mark.parametrize("endpoint", ["tcp://0.0.0.0:*", "tcp://*:5755", "tcp://[::]:5755",
                                      "tcp://eth0:5755", "tcp://127.0.0.1.example:5755"])
@pytest.mark.parametrize("key", ["endpoint", "admin"])
def test_a_reachable_endpoint_without_curve_is_refused(small_corpus, workplace, endpoint, key):
    serve = {key: endpoint}
    plain = workplace.write("plain", harness.configuration(small_corpus, serve=serve))
    code, err = start(plain)
    assert code == 78 and f"serve.{key}" in err and "allow_plaintext: true" in err, err
    said = workplace.write("said", harness.configuration(
        small_corpus, serve=serve, access={"allow_plaintext": True}))
    assert harness.run([harness.program("ballastd"), "--check-config", "--config",
                        said]).returncode == 0


def test_a_stopped_daemon_leaves_no_client_waiting(config, keys):
    """Connected, but nobody answers the handshake: the client's own deadline counts."""
    with serving(config, keys) as daemon:
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            code, out, _ = fetch(daemon, *keys.options("rank"), timeout_ms=700)
            assert code in (69, 77) and out == ""
        finally:
            daemon.process.send_signal(signal.SIGCONT)


def test_keygen_never_overwrites(workplace, keys):
    with open(keys.key("server"), "rb") as file:
        before = file.read()
    assert os.stat(keys.key("server")).st_mode & 0o777 == 0o600
    code, out, err = run("keygen", "--out", workplace.path("server"))
    assert (code, out) == (73, "") and "never overwritten" in err
    os.remove(keys.key("server"))
    assert run("keygen", "--out", workplace.path("server"))[0] == 73
    assert not os.path.exists(keys.key("server"))
    assert before and run("keygen", "--out", workplace.path("no/where"))[0] == 73


def test_keys_of_ballastctl_keygen_are_those_of_zeromq(keys):
    public, secret = keys.texts("rank")
    assert zmq.curve_public(secret) == public


def test_ballastctl_wants_both_keys_and_the_right_halves(config, keys):
    for options, code, words in [
            (["--key", keys.key("rank")], 64, "go together"),
            (["--server-key", keys.pub("server")], 64, "go together"),
            (["--key", keys.pub("rank"), "--server-key", keys.pub("server")], 78, "other key"),
            (["--key", keys.key("rank"), "--server-key", keys.key("server")], 78, "other key"),
            (["--key", keys.place.path("none"), "--server-key", keys.pub("server")], 66, "none")]:
        found, out, err = run("status", "--config", config, *options)
        assert (found, out) == (code, "") and words in err, err


def test_a_hundred_strangers_cost_little(config, keys):
    """Refused by the dozen, while a rank is served."""
    with serving(config, keys) as daemon:
        with zmq.Context() as context:
            sockets = []
            for _ in range(100):
                sockets.append(context.socket(zmq.DEALER))
                sockets[-1].setsockopt(zmq.LINGER, 0)
                sockets[-1].curve_serverkey = keys.texts("server")[0]
                sockets[-1].curve_publickey, sockets[-1].curve_secretkey = keys.texts("stranger")
                sockets[-1].connect(daemon.endpoint)
            await_refusals(daemon, "denied_unknown_key", 100)
            assert fetch(daemon, *keys.options("rank"))[0] == 0
            for one in sockets:
                one.close()
        lines = daemon.stderr().count("clients refused")
        assert lines < 100, "one line a second, not one a client"


def test_a_daemon_ends_while_strangers_knock(config, keys):
    """Closing with handshakes under way: the watched socket, its monitor, the handler of keys."""
    daemon = serving(config, keys)
    process = subprocess.Popen(
        [harness.program("ballastctl"), "fetch", "--endpoint", daemon.endpoint, "--step", "0",
         "--microbatch", "0", "--cp-rank", "0", "--timeout", "100000", *keys.options("stranger")],
        stderr=subprocess.DEVNULL)
    try:
        await_refusals(daemon, "denied_unknown_key", 3)
        daemon.stop()
    finally:
        process.kill()
        process.wait()
