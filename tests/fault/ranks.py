"""Trainer ranks as processes (fault_rank), that may be killed, stopped and started again.

What every rank has received stays in a folder, byte for byte; `compare` holds two such folders
against each other, `served` reads which pieces were in them.
"""
import filecmp
import json
import os
import selectors
import signal
import struct
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
import harness  # noqa: E402

# Of every program that a run starts: what the file says of libzmq.
os.environ["LSAN_OPTIONS"] = ("print_suppressions=0:suppressions="
                              + os.path.join(ROOT, "tests", "support", "lsan.supp"))
DP, CP, MICROBATCHES = 4, 2, 2
RANKS = [(dp, cp) for dp in range(DP) for cp in range(CP)]
TIMEOUT_MS, RETRY_MS = 2000, 0  # of a call; of the client, its default
AWAIT_S = 300  # for progress; far more than it takes
OVERRUN_MS = 10000  # a call that comes back so late hangs; far more than a busy machine needs
RECORD = struct.Struct("<4Q8I16s")
PIECE = struct.Struct("<QQQIHH")
CHUNK_BYTES, TOKEN_BYTES = 12, 12  # a token has an id, a label and a position


class Rank:
    """One rank: its process, and how far it has come."""

    def __init__(self, name, command, errors):
        self.name, self.command, self.errors = name, command, errors
        self.steps, self.text, self.report, self.killed = 0, b"", None, False
        self.start()

    def start(self):
        self.killed = False
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.errors)
        os.set_blocking(self.process.stdout.fileno(), False)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.killed = True

    def read(self):
        """Takes what it has said; False at its end."""
        piece = self.process.stdout.read()
        if piece is None:
            return True
        self.text += piece
        *lines, self.text = self.text.split(b"\n")
        for line in lines:
            if line.startswith(b"{"):
                self.report = json.loads(line)
            else:
                self.steps = int(line) + 1
        return bool(piece)


class Team:
    """All ranks of the job. Use as a context: nothing is left running at its end."""

    def __init__(self, endpoints, steps, folder, pause_us=0, prefix=(), names=None):
        """`endpoints(n)` is what rank n is given; `prefix` is put before its command; `names` are
        those of the ranks, by default of all."""
        os.makedirs(folder, exist_ok=True)
        self.steps, self.folder = steps, folder
        self.errors = open(os.path.join(folder, "errors"), "w+b")
        self.selector = selectors.DefaultSelector()
        self.ranks = []
        for n, (dp, cp) in enumerate(names or RANKS):
            command = [*prefix, harness.program("fault_rank"), endpoints(n), dp, cp, steps, folder,
                       TIMEOUT_MS, RETRY_MS, pause_us]
            self.ranks.append(Rank((dp, cp), list(map(str, command)), self.errors))
            self._watch(self.ranks[-1])

    def _watch(self, rank):
        self.selector.register(rank.process.stdout, selectors.EVENT_READ, rank)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for rank in self.ranks:
            rank.process.kill()
            rank.process.wait()
        self.errors.close()

    @property
    def progress(self):
        """Steps done by all ranks together."""
        return sum(rank.steps for rank in self.ranks)

    @property
    def running(self):
        return [rank for rank in self.ranks if rank.report is None]

    def _ended(self, rank):
        """A rank that was killed starts again; one that ended must have ended well."""
        self.selector.unregister(rank.process.stdout)
        rank.process.stdout.close()
        status = rank.process.wait()
        if rank.killed and rank.report is None:
            rank.start()
            self._watch(rank)
            return
        assert status == 0 and rank.report is not None, (rank.name, status, self.said())

    def pump(self, seconds):
        """Takes what ranks say, for that long at most; returns after anything was said."""
        for key, _ in self.selector.select(seconds):
            if not key.data.read():
                self._ended(key.data)

    def until(self, condition, seconds):
        """Pumps until it holds or all ranks have ended; False when time was up first."""
        end = time.monotonic() + seconds
        while self.running and not condition():
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.pump(min(left, 0.05))
        return True

    def rest(self, seconds):
        """Pumps for that long, or until all ranks have ended."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= end, seconds)

    def advance(self, rng, left):
        """Pumps while the ranks do a random part of what is to be done before `left` disturbances
        more; none of them may come too late."""
        todo = self.steps * len(self.ranks) - self.progress
        goal = self.progress + rng.randrange(1, max(2, 2 * todo // (left + 2)))
        assert self.until(lambda: self.progress >= goal, AWAIT_S), ("no progress", self.said())
        assert self.running, f"all ended with {left} disturbances left"

    def finish(self, seconds=1200):
        """Waits for the end of all ranks: their reports."""
        assert self.until(lambda: False, seconds), (
            "ranks do not end", [(rank.name, rank.steps) for rank in self.running], self.said())
        text = self.said()
        assert not harness.SANITIZER.search(text), text
        return [rank.report for rank in self.ranks]

    def said(self):
        with open(self.errors.name, "rb") as file:
            return file.read().decode(errors="replace")


class LooseDaemon(harness.Daemon):
    """A daemon that is not waited for: it may be killed before it serves."""

    def _await(self):
        pass

    def stop(self):
        """Drains; not before it serves, when the signal itself may end it."""
        super()._await()
        super().stop()

    def answers(self):
        """Does it answer by now? Operators may ask that; a HELLO would take a rank's place."""
        link = harness.ballast_wire.Operator(self.serve["admin"], timeout_ms=50)
        with link:
            link.send(harness.ballast_wire.encode("Admin", command="status"))
            return self.alive() and bool(link.socket.poll(50))

    def hold(self):
        """SIGSTOP: as far as TCP can tell it lives."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        text = self.stderr()
        super().kill()
        assert not harness.SANITIZER.search(text), text


def configuration(corpus, **sections):
    return harness.configuration(corpus, window=1024, dp=DP, cp=CP, microbatches=MICROBATCHES,
                                 **sections)


def undisturbed(path, steps, folder):
    """The streams that every other run must equal."""
    with harness.Daemon(path) as daemon, Team(lambda n: daemon.endpoint, steps, folder) as team:
        return team.finish()


def compare(folder, expected):
    """Bytes of the streams of all ranks, which must be the same in both folders."""
    total = 0
    for dp, cp in RANKS:
        for kind in ("stream", "steps"):
            ours, theirs = (os.path.join(f, f"{dp}-{cp}.{kind}") for f in (folder, expected))
            assert filecmp.cmp(ours, theirs, shallow=False), f"{ours} differs from {theirs}"
        total += os.path.getsize(os.path.join(folder, f"{dp}-{cp}.stream"))
    return total


def _pieces(path):
    """{(step, micro-batch): rows of its pieces} of one rank's stream."""
    found = {}
    with open(path, "rb") as file:
        while header := file.read(RECORD.size):
            step, _, _, _, microbatch, pieces, chunks, padded, *_ = RECORD.unpack(header)
            rows = PIECE.iter_unpack(file.read(pieces * PIECE.size))
            file.seek(chunks * CHUNK_BYTES + padded * TOKEN_BYTES, os.SEEK_CUR)
            assert (step, microbatch) not in found, "a micro-batch came twice"
            found[step, microbatch] = [(source, document, offset, length)
                                       for document, offset, _, length, source, _ in rows]
    return found


def check_documents(folder, config_path, steps, *options):
    """Number of pieces served, which must be those planned, each once, in the same place; `options`
    are those of `ballastctl plan`."""
    names = [source["name"] for source in harness.settings(config_path)["sources"]]
    planned = {(step["step"], batch["index"]): [
        (names.index(p["source"]), p["document"], p["offset"], p["length"])
        for p in batch["pieces"]]
        for step in harness.plan(config_path, steps, *options) for batch in step["microbatches"]}
    for cp in range(CP):
        served = {}
        for dp in range(DP):
            served.update(_pieces(os.path.join(folder, f"{dp}-{cp}.stream")))
        assert served == planned, "the pieces served are not those planned"
    return sum(map(len, planned.values()))


def check_reports(reports):
    """No call hung past its deadline, nothing was damaged, no replica dropped."""
    for report in reports:
        assert report["overrun_ms"] < OVERRUN_MS, report
        assert report["corrupt"] == report["dropped"] == 0, report


def used(folder):
    """Bytes of the files in a folder that another process writes to."""
    total = 0
    for name in os.listdir(folder):
        try:
            total += os.path.getsize(os.path.join(folder, name))
        except FileNotFoundError:  # renamed or thinned meanwhile
            pass
    return total


def show(title, **figures):
    """Prints the figures of a run, one a line."""
    print(title)
    for name, value in figures.items():
        print(f"  {name.replace('_', ' ')}: {value}", flush=True)


def size(small, full):
    """The arguments of a run: `full` with --full on the command line, else `small`."""
    return full if "--full" in sys.argv else small
