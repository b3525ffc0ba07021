"""ballastctl on a daemon: what an operator reads of known answers, to the letter, and the answers
of a real ballastd against what `ballastctl plan` says without it."""
import copy
import json
import os
import signal
import subprocess
import threading
from array import array

import pytest
import zmq

import harness
from harness import ballast_wire

STATUS = {
    "job": "llama", "server": "ballastd 0.1.0", "state": "serving", "uptime_s": 7980.5,
    "job_digest": "00112233445566778899aabbccddeeff", "planned_step": 1207,
    "requested_step": 1199, "steps": 4000, "clients": 16, "waiting_requests": 2,
    "batches": 153472, "bytes_sent": 5 << 30, "replanned_steps": 3,
    "unreachable": 0, "congested": 0,
    "requests": {"hello": 16, "get_batch": 153490, "ack": 0},
    "refusals": {"TIMEOUT": 4, "BAD_REQUEST": 1},
    "cache": {"bytes": 3 << 20, "limit_bytes": 64 << 20, "payloads": 96, "in_flight_bytes": 0},
}
QUEUES = {
    "step": 1207, "policy": "wlb", "pieces": 3, "tokens": 98304, "oldest": 1203,
    "places": [
        {"name": "queue 1 (>= 32768)", "pieces": 3, "tokens": 98304, "oldest": 1203},
        {"name": "queue 2 (>= 81920)", "pieces": 0, "tokens": 0, "oldest": 1208},
    ],
}
# As a daemon lists them, in no order of coordinates.
RANKS = [
    {"dp": 1, "cp": 1, "pp": 0, "tp": 0, "client": "\x1b[2Jnode2:4711", "incarnation": 9,
     "requested_step": 1197, "acked_step": None, "lag": 2, "waiting": 0, "oldest_wait_ms": 0,
     "batches": 12, "bytes": 100, "idle_ms": 61000},
    {"dp": 0, "cp": 0, "pp": 0, "tp": 0, "client": "node1:4711", "incarnation": 9,
     "requested_step": 1199, "acked_step": 1198, "lag": 0, "waiting": 1, "oldest_wait_ms": 1500,
     "batches": 9592, "bytes": 1 << 20, "idle_ms": 12},
]
SOURCES = [
    {"name": "web", "format": "megatron", "shards": 12, "documents": 2000, "empty_documents": 1,
     "tokens": 5000814, "target_share": 0.7, "realised_share": 0.69951, "epoch": 2,
     "position": 500, "served_documents": 4500, "served_tokens": 11250000, "dropped_documents": 0,
     "dropped_tokens": 0},
]
STEP = {
    "step": 7, "digest": "00112233445566778899aabbccddeeff", "tokens": 1536, "imbalance": 1.25,
    "microbatches": [
        {"index": 0, "dp": 0, "slot": 0, "tokens": 1024, "workload": 500,
         "sharding": "per-document",
         "pieces": [{"source": "web", "document": 1, "offset": 0, "length": 1000, "arrived": 7},
                    {"source": "web", "document": 9, "offset": 0, "length": 24, "arrived": 5}],
         "ranks": [{"tokens": 512, "attention": 300, "chunks": []},
                   {"tokens": 512, "attention": 100, "chunks": []}]},
        {"index": 1, "dp": 1, "slot": 0, "tokens": 512, "workload": 300,
         "sharding": "per-sequence",
         "pieces": [{"source": "web", "document": 2, "offset": 0, "length": 512, "arrived": 7}],
         "ranks": [{"tokens": 256, "attention": 100, "chunks": []},
                   {"tokens": 256, "attention": 100, "chunks": []}]},
    ],
    "waiting": {"pieces": 3, "tokens": 98304, "oldest": 5},
}

SNAPSHOT = {"step": 1207, "bytes": 4096, "directory": "/var/lib/ballast"}


class Answering:
    """An admin socket that answers each command with a fixed answer, or a (status, message)."""

    def __init__(self, path, **answers):
        self.answers, self.asked = answers, []
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.ROUTER)
        self.endpoint = f"ipc://{path}"
        self.socket.bind(self.endpoint)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._serve)

    def _serve(self):
        while not self.stopping.is_set():
            if self.socket.poll(20):
                peer, header = self.socket.recv_multipart()
                _, request = ballast_wire.decode(header)
                self.asked.append([request["command"], *request["arguments"]])
                self.socket.send_multipart([peer, *self._reply(request["command"])])

    def _reply(self, command):
        answer = self.answers[command]
        if isinstance(answer, tuple):
            status = ballast_wire.STATUSES.index(answer[0])
            return [ballast_wire.encode("AdminReply", status=status, message=answer[1])]
        text = answer if isinstance(answer, bytes) else json.dumps(answer, indent=1).encode()
        return [ballast_wire.encode("AdminReply"), text]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.stopping.set()
        self.thread.join()
        self.socket.close(0)
        self.context.term()


def ctl(*arguments):
    """(exit status, standard output, standard error)"""
    done = harness.run([harness.program("ballastctl"), *map(str, arguments)])
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def answering(workplace):
    with Answering(workplace.path("admin"), status=copy.deepcopy(STATUS), queues=QUEUES,
                   ranks=copy.deepcopy(RANKS), sources=SOURCES, step=STEP, drain={},
                   snapshot=SNAPSHOT) as daemon:
        yield daemon


def shown(daemon, *arguments):
    code, out, err = ctl(*arguments, "--admin", daemon.endpoint)
    assert (code, err) == (0, ""), err
    return out


# What an operator reads


def test_status(answering):
    assert shown(answering, "status") == """\
job         llama
state       serving, up 2 h 13 min
server      ballastd 0.1.0
job digest  00112233445566778899aabbccddeeff
planned     up to step 1,207 of a job of 4,000
asked for   up to step 1,199; 3 past steps planned again
clients     16
waiting     2 requests
served      153,472 batches, 5.0 GiB
requests    16 hello
            153,490 get_batch
refused     4 TIMEOUT
            1 BAD_REQUEST
cache       3.0 MiB of 64.0 MiB, 96 payloads; 0 B on their way
"""


def test_status_before_the_first_request(answering):
    answering.answers["status"].update(
        steps=None, requested_step=None, planned_step=None, refusals={}, requests={},
        state="draining", congested=1000)
    out = shown(answering, "status")
    assert "\nstate        draining, up 2 h 13 min\n" in out
    assert "\nplanned      no step yet\n" in out
    assert "\nrequests     none\nrefused      none\n" in out
    assert ("\nundelivered  0 replies to clients that had gone, 1,000 to clients too slow\n"
            in out)


def test_queues(answering):
    assert shown(answering, "queues") == """\
before step 1,207, policy wlb

place               pieces  tokens  waits since step
queue 1 (>= 32768)       3  98,304             1,203
queue 2 (>= 81920)       0       0                 -
all                      3  98,304             1,203
"""


def test_ranks(answering):
    assert shown(answering, "ranks") == """\
dp  cp  pp  tp  client          asks for  acked  lag  batches    bytes  last heard of  waiting
 0   0   0   0  node1:4711         1,199  1,198    0    9,592  1.0 MiB      12 ms ago  1 for 1 s
 1   1   0   0  ?[2Jnode2:4711     1,197      -    2       12    100 B  1 min 1 s ago  -
"""
    answering.answers["ranks"] = []
    assert shown(answering, "ranks") == "no trainer rank has said hello yet\n"


def test_sources(answering):
    assert shown(answering, "sources") == """\
source  format    shards  documents  empty     tokens  target  realised  epoch    done  handed out\
  dropped
web     megatron      12      2,000      1  5,000,814  70.0 %    70.0 %      2  25.0 %  11,250,000\
        0
"""


def test_step(answering):
    assert shown(answering, "step", "7") == """\
step 7, digest 00112233445566778899aabbccddeeff
1,536 tokens, imbalance 1.2500; 3 pieces of 98,304 tokens wait

micro-batch  dp  slot  pieces  tokens  longest piece    work  busiest CP rank  sharding
          0   0     0       2   1,024          1,000  1.2500           1.5000  per-document
          1   1     0       1     512            512  0.7500           1.0000  per-sequence

work: over the mean of the step; busiest CP rank: attention over the mean of the micro-batch
"""
    assert answering.asked == [["step", "7"]]


def test_snapshot(answering):
    assert shown(answering, "snapshot") == (
        "saved before step 1,207, 4.0 KiB in /var/lib/ballast\n")
    assert answering.asked == [["snapshot"]]


def test_status_shows_snapshots_and_the_way_to_a_far_step(answering):
    answering.answers["status"].update(
        planning_at=5000, planning_target=900000,
        snapshots={"directory": "/var/lib/ballast", "last_snapshot_step": 1200,
                   "snapshot_errors": 3, "written": 12, "loaded": 0, "skipped": 0})
    out = shown(answering, "status")
    assert "\nplanning    step 5,000, on the way to 900,000\n" in out
    assert out.endswith("snapshots   last before step 1,200, in /var/lib/ballast\n"
                        "            3 could not be written, see the log\n")
    answering.answers["status"]["snapshots"].update(last_snapshot_step=None, snapshot_errors=0)
    assert shown(answering, "status").endswith("snapshots   none yet, in /var/lib/ballast\n")


def test_drain(answering):
    assert shown(answering, "drain") == (
        "draining: the daemon answers what it has under way, then exits\n")
    assert answering.asked == [["drain"]]


@pytest.mark.parametrize("command, answer", [
    (["status"], STATUS), (["queues"], QUEUES), (["ranks"], RANKS), (["sources"], SOURCES),
    (["step", "7"], STEP), (["snapshot"], SNAPSHOT), (["drain"], {})])
def test_json_is_the_answer_on_one_line(answering, command, answer):
    out = shown(answering, *command, "--json")
    assert out.count("\n") == 1 and json.loads(out) == answer


# Refusals, and answers that make no sense


@pytest.mark.parametrize("status, message, code", [
    ("END", "the job has 5 steps", 64), ("OUT_OF_RANGE", "x", 64), ("UNKNOWN_COMMAND", "x", 64),
    ("TIMEOUT", "x", 69), ("BUSY", "x", 69), ("BAD_DATA", "x", 65), ("IO_ERROR", "x", 74),
    ("INTERNAL", "x", 70)])
def test_refusals(workplace, status, message, code):
    with Answering(workplace.path("admin"), step=(status, message)) as daemon:
        assert ctl("step", 9, "--admin", daemon.endpoint) == (
            code, "", f"ballastctl: step: the daemon refuses ({status}): {message}\n")


@pytest.mark.parametrize("answer", [
    b"", b"not JSON", b"[", b"[]", b'"text"', {}, {**STATUS, "clients": "many"}, b"{}\0",
    {key: value for key, value in STATUS.items() if key != "cache"}])
def test_an_answer_of_another_shape(workplace, answer):
    with Answering(workplace.path("admin"), status=answer) as daemon:
        code, out, err = ctl("status", "--admin", daemon.endpoint)
        assert (code, out) == (70, "")
        assert err.startswith("ballastctl: status: the daemon's answer is not as expected (")


def test_interval_shows_again_and_again(answering):
    process = subprocess.Popen(
        [harness.program("ballastctl"), "status", "--json", "--interval", "0.01", "--admin",
         answering.endpoint], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(3):
        assert json.loads(process.stdout.readline()) == STATUS
    process.stdout.close()
    assert process.wait(timeout=harness.DEADLINE_S) == 74
    assert process.stderr.read() == b""
    process.stderr.close()


def test_interval_ends_with_the_reader_not_with_the_interval(answering):
    process = subprocess.Popen(
        [harness.program("ballastctl"), "status", "--json", "--interval", "100000", "--admin",
         answering.endpoint], stdout=subprocess.PIPE)
    assert json.loads(process.stdout.readline()) == STATUS
    process.stdout.close()
    assert process.wait(timeout=harness.DEADLINE_S) == 74


@pytest.mark.parametrize("attempt", range(5))
def test_an_answer_is_read_although_the_daemon_has_closed_behind_it(workplace, attempt):
    endpoint = f"ipc://{workplace.path('admin')}"
    with zmq.Context() as context:
        socket = context.socket(zmq.ROUTER)
        socket.bind(endpoint)
        process = subprocess.Popen(
            [harness.program("ballastctl"), "drain", "--admin", endpoint, "--timeout", "20000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        peer, _ = socket.recv_multipart()
        process.send_signal(signal.SIGSTOP)
        socket.send_multipart([peer, ballast_wire.encode("AdminReply"), b"{}"])
        socket.close(5000)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=harness.DEADLINE_S)
    assert (process.returncode, err) == (0, b"") and out.startswith(b"draining")


def test_the_admin_socket_is_taken_from_the_configuration(small_corpus, workplace):
    path = workplace.write("job", harness.configuration(small_corpus))
    admin = harness.settings(path)["serve"]["admin"]
    with Answering(admin.removeprefix("ipc://"), status=STATUS):
        code, out, err = ctl("status", "--config", path, "--json")
        assert (code, err) == (0, "") and json.loads(out) == STATUS


# A real daemon


@pytest.fixture
def job(small_corpus, workplace):
    return workplace.write("job", harness.configuration(small_corpus, window=8192))


def fetched(daemon, step, microbatch, cp_rank, folder):
    """(JSON, tokens, labels, positions) as `ballastctl fetch` gives them."""
    names = [os.path.join(folder, name) for name in ("tokens", "labels", "positions")]
    code, out, err = ctl("fetch", "--endpoint", daemon.endpoint, "--step", step, "--microbatch",
                         microbatch, "--cp-rank", cp_rank, "--json", "--out", names[0],
                         "--labels", names[1], "--positions", names[2])
    assert (code, err) == (0, ""), err
    values = []
    for name, kind in zip(names, "Iii"):
        values.append(array(kind))
        with open(name, "rb") as file:
            values[-1].frombytes(file.read())
    return json.loads(out), *values


def test_fetch_gives_what_the_plan_says(job, small_corpus, tmp_path):
    plan = harness.plan(job, 3)
    with harness.Daemon(job) as daemon:
        for step, microbatch, cp_rank in [(0, 0, 0), (2, 5, 1), (1, 7, 0)]:
            facts, tokens, labels, positions = fetched(daemon, step, microbatch, cp_rank, tmp_path)
            planned = plan[step]["microbatches"][microbatch]
            assert facts["digest"] == plan[step]["digest"]
            assert (facts["dp"], facts["slot"]) == (planned["dp"], planned["slot"])
            assert facts["tokens"] == planned["ranks"][cp_rank]["tokens"] == len(tokens)
            assert facts["step_tokens"] == plan[step]["tokens"]
            check_rank(planned, cp_rank, small_corpus, tokens, labels, positions)
            assert facts["loss_tokens"] == sum(label != -100 for label in labels)


def check_rank(planned, cp_rank, corpus, tokens, labels, positions):
    at = 0
    for index, start, length in planned["ranks"][cp_rank]["chunks"]:
        piece = planned["pieces"][index]
        source = corpus.source(piece["source"])
        first, end = piece["offset"] + start, source.lengths[piece["document"]]
        real = list(source.read(piece["document"], first, min(length + 1, end - first)))
        assert list(tokens[at : at + length]) == real[:length]
        assert list(labels[at : at + length]) == (real[1:] + [-100])[:length]
        assert list(positions[at : at + length]) == list(range(start, start + length))
        at += length
    assert at == len(tokens) == len(labels) == len(positions)


def test_fetch_prints_the_checksum_of_the_file_it_writes(job, tmp_path):
    xxhash = pytest.importorskip("xxhash")
    with harness.Daemon(job) as daemon:
        facts, tokens, _, _ = fetched(daemon, 0, 3, 1, tmp_path)
        code, out, _ = ctl("fetch", "--endpoint", daemon.endpoint, "--step", 0, "--microbatch", 3,
                           "--cp-rank", 1)
    assert facts["xxh3"] == xxhash.xxh3_64_hexdigest(tokens.tobytes())
    assert code == 0
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert lines["fetched"] == "step 0, micro-batch 3 (dp 0, slot 3), CP rank 1 of job test"
    assert lines["xxh3"] == facts["xxh3"] and lines["digest"] == facts["digest"]


def test_fetch_out_of_range(job, small_corpus, workplace):
    finite = workplace.write("finite", harness.configuration(small_corpus, epochs=1))
    with harness.Daemon(job) as daemon, harness.Daemon(finite) as short:
        ask = ["fetch", "--endpoint", daemon.endpoint, "--step", 0, "--microbatch"]
        assert ctl(*ask, 8, "--cp-rank", 0) == (
            64, "", "ballastctl: fetch: --microbatch: found 8, expected less than 8 (dp 2 x 4 "
                    "micro-batches)\n")
        assert ctl(*ask, 0, "--cp-rank", 2) == (
            64, "", "ballastctl: fetch: --cp-rank: found 2, expected less than 2\n")
        code, out, err = ctl("fetch", "--endpoint", short.endpoint, "--step", 10**6,
                             "--microbatch", 0, "--cp-rank", 0)
        assert (code, out) == (64, "") and "end of data" in err


def test_a_file_that_cannot_be_written(job, tmp_path):
    with harness.Daemon(job) as daemon:
        code, out, err = ctl("fetch", "--endpoint", daemon.endpoint, "--step", 0, "--microbatch",
                             0, "--cp-rank", 0, "--out", tmp_path / "no" / "f")
    assert (code, out) == (73, "") and "No such file or directory" in err


def test_a_real_daemon_answers_every_command(job):
    with harness.Daemon(job) as daemon:
        plan = harness.plan(job, 3)
        assert ctl("fetch", "--endpoint", daemon.endpoint, "--step", 2, "--microbatch", 1,
                   "--cp-rank", 1)[0] == 0
        for command in (["status"], ["queues"], ["ranks"], ["sources"], ["step", "2"]):
            text = ctl(*command, "--config", job)
            assert text[0] == 0 and text[2] == "", text
        answers = {name: json.loads(ctl(name, "--config", job, "--json")[1])
                   for name in ("status", "ranks", "sources")}
        assert answers["status"]["state"] == "serving" and answers["status"]["batches"] == 1
        assert answers["ranks"][0]["requested_step"] == 2 or len(answers["ranks"]) > 1
        assert [source["name"] for source in answers["sources"]] == ["heavy", "light"]
        assert json.loads(ctl("step", "2", "--config", job, "--json")[1]) == plan[2]


def test_drain_ends_a_real_daemon(job):
    daemon = harness.Daemon(job)
    try:
        assert ctl("drain", "--config", job)[0] == 0
        assert daemon.process.wait(timeout=harness.DEADLINE_S) == 0
    finally:
        daemon.kill()
