"""Runs ballastd and ballastctl for the tests: configurations, processes, clean ends."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support", "python"))
import ballast_wire  # noqa: E402

SANITIZER = re.compile(
    r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|SUMMARY: \w+Sanitizer")
DEADLINE_S = 120  # of any one program; far more than it needs, also under a sanitizer


def program(name, build=None):
    """Path of a built program: in BALLAST_BUILD, or in the build directory given."""
    build = build or os.environ.get("BALLAST_BUILD", os.path.join(ROOT, "build", "release"))
    for folder in ("daemon", "daemon/ctl", "client/examples", "client", "kernels/example",
                   "tests/bench", "tests/fault", "."):
        path = os.path.join(build, folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(f"{name} is not built in {build}: set BALLAST_BUILD")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def configuration(corpus, policy="wlb", window=16384, dp=2, microbatches=4, cp=2,
                  epochs="repeat", last_step="serve", **sections):
    """A job over `corpus` as a dictionary; `sections` replace or extend whole sections."""
    config = {
        "job": "test", "seed": 1234, "sources": corpus.configuration(epochs),
        "vocab_size": corpus.vocab_size,
        "parallel": {"dp": dp, "pp": 1, "cp": cp, "tp": 1, "microbatches": microbatches},
        "context_window": window,
        "max_sequence_length": window if policy in ("plain", "fixed-greedy") else 2 * window,
        "long_documents": "split", "last_step": last_step,
        "packing": {"policy": policy}, "sharding": {"strategy": "adaptive"},
        "cost": {"crossover_tokens": 24576},
    }
    if policy == "wlb":
        config["packing"]["outlier_thresholds"] = [window // 4, window * 5 // 8]
    for name, value in sections.items():
        config[name] = {**config[name], **value} if isinstance(config.get(name), dict) else value
    return config


class Workplace:
    """A short-named temporary folder (ipc paths are limited to 107 bytes), gone at the end."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="blst-")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, config):
        """Writes a configuration with endpoints of its own (JSON is YAML); returns its path."""
        serve = {"endpoint": f"tcp://127.0.0.1:{free_port()}",
                 "admin": f"ipc://{self.path(name)}.admin", **config.get("serve", {})}
        path = self.path(name + ".yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**config, "serve": serve}, file, indent=1)
        return path


def settings(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def run(arguments, **options):
    """A finished program; its standard error may hold no sanitizer's report."""
    done = subprocess.run(arguments, capture_output=True, timeout=DEADLINE_S, check=False,
                          **options)
    assert not SANITIZER.search(done.stderr.decode(errors="replace")), done.stderr.decode()
    return done


def ctl(*arguments, build=None):
    """Standard output of a ballastctl that must succeed."""
    done = run([program("ballastctl", build), *map(str, arguments)])
    assert done.returncode == 0, (arguments, done.returncode, done.stderr.decode())
    return done.stdout.decode()


def plan(config_path, steps, *arguments, build=None):
    """The plan JSON of `steps` steps, or of all up to the end of data where there are fewer."""
    text = ctl("plan", "--config", config_path, "--steps", steps, "--json", *arguments,
               build=build)
    lines = [json.loads(line) for line in text.splitlines()]
    return [line for line in lines if "microbatches" in line]


def sanitizers(build=None):
    """What the build was configured with: "", "address,undefined" or "thread"."""
    build = build or os.environ.get("BALLAST_BUILD", os.path.join(ROOT, "build", "release"))
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        return re.search(r"^BALLAST_SANITIZE:\w+=(.*)$", file.read(), re.MULTILINE)[1]


def memory_allowance(kib):
    """A bound on memory, with room for a sanitizer's shadow and quarantine."""
    return 8 * kib if sanitizers() else kib


class Daemon:
    """A ballastd under test. Ends with SIGTERM, which must give exit status 0."""

    def __init__(self, config_path, build=None, curve=None, prefix=(), arguments=(),
                 environment=None):
        """`prefix` is put before its command, `arguments` behind it."""
        self.curve = curve  # keys of a trainer, where the daemon demands CURVE
        self.serve = settings(config_path)["serve"]
        self.endpoint = self.serve["endpoint"]
        self.errors = open(config_path + ".stderr", "w+b")
        self.process = subprocess.Popen(
            [*prefix, program("ballastd", build), "--config", config_path, *arguments],
            stdout=subprocess.DEVNULL, stderr=self.errors,
            env=environment or {"ASAN_OPTIONS": "quarantine_size_mb=8", **os.environ})
        self._await()

    def _await(self):
        """Returns when the daemon answers; a daemon that ends instead fails with its errors."""
        try:
            with ballast_wire.Connection(self.endpoint, timeout_ms=200,
                                         curve=self.curve) as connection:
                connection.send(ballast_wire.encode("Hello", rank={}, client="harness"))
                while not connection.socket.poll(200):
                    assert self.alive(), "it ended"
                kind, values, _ = connection.receive()
                ballast_wire.accept("HelloReply", kind, values)
        except BaseException as failure:
            self.kill()
            raise AssertionError(f"ballastd did not answer: {failure}: {self.stderr()}") from None

    def alive(self):
        return self.process.poll() is None

    def stderr(self):
        with open(self.errors.name, "rb") as file:
            return file.read().decode(errors="replace")

    def status(self):
        """Answer of the admin socket to `status`."""
        with ballast_wire.Operator(self.serve["admin"]) as operator:
            return operator.admin("status")

    def resident_kib(self, peak=False):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            key = "VmHWM:" if peak else "VmRSS:"
            return next(int(line.split()[1]) for line in file if line.startswith(key))

    def kill(self):
        """kill -9, as a crash would be."""
        if self.alive():
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.errors.close()

    def stop(self):
        """SIGTERM: drains, exits 0, leaves no sanitizer's report."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=DEADLINE_S)
        text = self.stderr()
        self.errors.close()
        assert status == 0, (status, text)
        assert not SANITIZER.search(text), text

    def __enter__(self):
        return self

    def __exit__(self, failure, *unused):
        if failure is None:
            self.stop()
        else:
            print(self.stderr())
            self.kill()
