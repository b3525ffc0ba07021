"""ballastctl without a daemon: exit status, standard output and standard error, to the letter."""
import json
import os
import signal
import subprocess
from array import array

import pytest

import harness
import megatron

COMMANDS = {
    "import": ["PATH...", "--out", "--json"],
    "verify": ["PATH...", "--vocab-size", "--json"],
    "plan": ["--config", "--from", "--steps", "--state", "--set", "--summary", "--json"],
    "where": ["SOURCE DOCUMENT", "--config", "--state", "--epoch", "--to", "--set", "--admin",
              "--server-key", "--key", "--timeout", "--json"],
    "simulate": ["--config", "--policies", "--shardings", "--steps", "--set", "--recommend",
                 "--plot", "--json"],
    "keygen": ["--out", "--json"],
    "fetch": ["--endpoint", "--step", "--microbatch", "--cp-rank", "--out", "--labels",
              "--positions", "--server-key", "--key", "--timeout", "--json"],
    "status": ["--admin", "--config", "--interval",
               "--server-key", "--key", "--timeout", "--json"],
    "queues": ["--admin", "--config", "--interval",
               "--server-key", "--key", "--timeout", "--json"],
    "ranks": ["--admin", "--config", "--interval", "--server-key", "--key", "--timeout", "--json"],
    "sources": ["--admin", "--config", "--interval",
                "--server-key", "--key", "--timeout", "--json"],
    "step": ["K", "--admin", "--config", "--interval",
             "--server-key", "--key", "--timeout", "--json"],
    "snapshot": ["--admin", "--config", "--server-key", "--key", "--timeout", "--json"],
    "reshape": ["--from-step", "--config", "--force", "--admin", "--server-key", "--key",
                "--timeout", "--json"],
    "skip": ["--from", "--to", "--force", "--admin", "--config", "--server-key", "--key",
             "--timeout", "--json"],
    "drain": ["--admin", "--config", "--server-key", "--key", "--timeout", "--json"],
}


def ctl(*arguments, **options):
    """(exit status, standard output, standard error)"""
    done = harness.run([harness.program("ballastctl"), *map(str, arguments)], **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def hint(command=""):
    return f"Try 'ballastctl {command}{' ' if command else ''}--help'.\n"


@pytest.fixture
def shards(tmp_path):
    """A folder with a good shard of documents of 3, 0 and 2 tokens, and files that are none."""
    documents = [[array("H", [1, 2, 256])], [], [array("H", [7]), array("H", [256])]]
    megatron.write(str(tmp_path / "good"), documents, 8)
    megatron.write(str(tmp_path / "short"), documents, 8)
    (tmp_path / "short.bin").write_bytes(b"12345678")
    (tmp_path / "lengths.txt").write_text("# two\n10\n20\n")
    return tmp_path


@pytest.fixture
def job(small_corpus, workplace):
    return workplace.write("job", harness.configuration(small_corpus, window=8192))


# Help and usage


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_lists_every_command(word):
    code, out, err = ctl(word)
    assert (code, err) == (0, "")
    assert out.startswith("Usage: ballastctl COMMAND [OPTION]... [ARGUMENT]...\n")
    listed = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert [name for name in listed if name in COMMANDS] == list(COMMANDS)
    assert {"--help", "--version"} <= set(listed)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_lists_its_options_and_an_example(command):
    code, out, err = ctl(command, "--help")
    assert (code, err) == (0, "")
    usage, *rest = out.splitlines()
    assert usage.startswith(f"Usage: ballastctl {command} ")
    options = [line.split()[0] for line in rest if line.startswith("  --")]
    named = [word for word in COMMANDS[command] if word.startswith("--")]
    assert sorted(options) == sorted(named + ["--help"])
    for operand in set(COMMANDS[command]) - set(named):
        assert usage.endswith(" " + operand)
    assert rest[rest.index("Example:") + 1].startswith(f"  ballastctl {command} ".rstrip())
    assert max(map(len, rest)) <= 100


def test_version():
    code, out, err = ctl("--version")
    assert (code, err) == (0, "")
    name, version = out.split()
    assert name == "ballastctl" and all(part.isdigit() for part in version.split("."))


@pytest.mark.parametrize("arguments, message, command", [
    ([], "COMMAND is missing", ""),
    (["plna"], "unknown command 'plna', did you mean 'plan'?", ""),
    (["frobnicate"], "unknown command 'frobnicate'", ""),
    (["--json", "plan"], "unknown option --json: options follow the command", ""),
    (["plan"], "plan: --config FILE is missing: configuration of the job", "plan"),
    (["plan", "--confg", "x"], "plan: unknown option --confg, did you mean --config?", "plan"),
    (["verify"], "verify: PATH... is missing", "verify"),
    (["verify", "--vocab-size", "many", "x"],
     "verify: --vocab-size: found 'many', expected a whole number", "verify"),
    (["step"], "step: K is missing", "step"),
    (["step", "1", "2"], "step: '2' is one argument too many", "step"),
    (["status", "--interval", "-1"],
     "status: --interval: found '-1', expected seconds over 0", "status"),
])
def test_usage_errors(arguments, message, command):
    assert ctl(*arguments) == (64, "", f"ballastctl: {message}\n{hint(command)}")


@pytest.mark.parametrize("arguments, message", [
    (["verify", "--vocab-size", "4294967296", "x"],
     "verify: --vocab-size: found 4294967296, expected at most 4294967295"),
    (["plan", "--config", "x", "--steps", "0"],
     "plan: --steps: found 0, expected at least 1"),
    (["step", "last"], "step: found 'last', expected a step, a whole number from 0"),
    (["status", "--admin", "nonsense"],
     "status: 'nonsense' is no ZeroMQ endpoint (Invalid argument), expected one like "
     "ipc:///run/ballast/admin.sock or tcp://127.0.0.1:5756"),
    (["status", "--admin", "ipc:///x", "--config", "y"],
     "status: --admin and --config exclude each other"),
    (["fetch", "--endpoint", "nonsense", "--step", "0", "--microbatch", "0", "--cp-rank", "0"],
     "fetch: --endpoint: found 'nonsense', expected ZeroMQ endpoints such as "
     "tcp://127.0.0.1:5755, separated by commas"),
])
def test_values_out_of_range(arguments, message):
    assert ctl(*arguments) == (64, "", f"ballastctl: {message}\n")


# verify


def test_verify_prints_a_line_a_shard(shards):
    assert ctl("verify", "good.idx", "good.bin", "lengths.txt", cwd=shards) == (
        0,
        "ok good.idx documents=3 tokens=5\n"
        "ok good.bin documents=3 tokens=5\n"
        "ok lengths.txt documents=2 tokens=30\n",
        "")


def test_verify_goes_on_after_a_bad_shard(shards):
    code, out, err = ctl("verify", "absent.idx", "short.idx", ".", "good.idx", cwd=shards)
    assert (code, err) == (65, "")
    absent, short, folder, good = out.splitlines()
    assert absent.startswith("bad absent.idx: ") and "No such file" in absent
    assert short.startswith("bad short.idx: ") and "8" in short and "10" in short
    assert folder.startswith("bad .: ") and "directory" in folder
    assert good == "ok good.idx documents=3 tokens=5"


def test_verify_checks_ids_against_the_vocabulary(shards):
    assert ctl("verify", "--vocab-size", "257", "good.idx", cwd=shards)[0] == 0
    code, out, err = ctl("verify", "--vocab-size", "256", "good.idx", cwd=shards)
    assert (code, err) == (65, "")
    assert out.startswith("bad good.idx: ") and "256" in out and "token 2" in out


def test_verify_json(shards):
    code, out, err = ctl("verify", "--json", "good.idx", "absent.idx", cwd=shards)
    assert (code, err) == (65, "")
    good, bad = map(json.loads, out.splitlines())
    assert good == {"path": "good.idx", "ok": True, "documents": 3, "empty_documents": 1,
                    "tokens": 5}
    assert bad["path"] == "absent.idx" and bad["ok"] is False and "No such file" in bad["error"]


def test_a_name_cannot_forge_lines_or_colours(shards):
    code, out, _ = ctl("verify", "a\nok b documents=1 tokens=1\x1b[31m", cwd=shards)
    assert code == 65
    assert out.startswith("bad a?ok b documents=1 tokens=1?[31m: ") and out.count("\n") == 1


def test_a_name_that_is_no_utf8_is_json_all_the_same(shards):
    done = harness.run([harness.program("ballastctl"), "verify", "--json", b"\xff.idx"],
                       cwd=shards)
    assert done.returncode == 65
    assert json.loads(done.stdout)["path"] == "\N{REPLACEMENT CHARACTER}.idx"


# import


def test_import_makes_a_shard_that_verifies(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"hello")
    (tmp_path / "b.txt").write_bytes(b"\x00\xff")
    assert ctl("import", "--out", "text", "a.txt", "b.txt", cwd=tmp_path) == (
        0, "text.idx: 2 documents, 9 tokens, vocabulary 257\n", "")
    assert ctl("verify", "--vocab-size", "257", "text.idx", cwd=tmp_path) == (
        0, "ok text.idx documents=2 tokens=9\n", "")
    source = megatron.Source("text", [str(tmp_path / "text.idx")])
    assert list(source.read(0, 0, 6)) == [*b"hello", 256]
    assert list(source.read(1, 0, 3)) == [0, 255, 256]


def test_import_json_and_failure(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"hello")
    (tmp_path / "none.txt").write_bytes(b"")
    code, out, err = ctl("import", "--json", "--out", "t", "a.txt", "none.txt", cwd=tmp_path)
    assert (code, err) == (0, "")
    assert json.loads(out) == {"prefix": "t", "documents": 1, "tokens": 6, "skipped": 1,
                               "vocab_size": 257}
    code, out, err = ctl("import", "--out", "u", "absent.txt", cwd=tmp_path)
    assert (code, out) == (66, "") and "absent.txt" in err
    for folder in "/", "u/":
        assert ctl("import", "--out", folder, "a.txt", cwd=tmp_path) == (
            64, "", f"ballastctl: import: --out: found '{folder}', expected a PREFIX with a name "
            "behind '/'\n")
    for ending in ".idx", ".bin":
        assert ctl("import", "--out", "u" + ending, "a.txt", cwd=tmp_path) == (
            64, "", f"ballastctl: import: --out: found 'u{ending}', expected a PREFIX without "
            f"'{ending}'\n")
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "none.txt", "t.bin", "t.idx"]


# plan


def test_plan_rows_are_aligned_and_agree_with_json(job):
    code, out, err = ctl("plan", "--config", job, "--steps", "12", "--from", "3")
    assert (code, err) == (0, "")
    table, summary = out.split("\n\n")
    header, *rows = table.splitlines()
    assert header.split() == ["step", "tokens", "imbalance", "longest", "waiting", "busiest",
                              "CP", "rank", "digest"]
    assert {len(row) for row in rows} == {header.index("digest") + 12}
    steps = harness.plan(job, 12, "--from", 3)
    assert [row.split()[0] for row in rows] == [str(step) for step in range(3, 15)]
    for row, step in zip(rows, steps):
        _, tokens, imbalance, longest, waiting, busiest, digest = row.split()
        assert int(tokens.replace(",", "")) == step["tokens"]
        assert imbalance == f"{step['imbalance']:.4f}"
        assert int(longest.replace(",", "")) == max(m["tokens"] for m in step["microbatches"])
        assert int(waiting.replace(",", "")) == step["waiting"]["tokens"]
        assert busiest == f"{busiest_over_ideal([step]):.4f}"
        assert digest == step["digest"][:12]
    assert "\nsteps            3 to 14\n" in summary
    assert summary.endswith(f"\ndigest           {steps[-1]['digest']}\n")


def busiest_over_ideal(steps):
    """Attention of the busiest CP rank of every micro-batch, over an even share of its pairs."""
    busiest = ideal = 0
    for microbatch in (m for step in steps for m in step["microbatches"]):
        busiest += max(rank["attention"] for rank in microbatch["ranks"])
        squares = sum(piece["length"] ** 2 for piece in microbatch["pieces"])
        ideal += squares / 2 / len(microbatch["ranks"])
    return busiest / ideal


def test_plan_summary_is_that_of_the_steps(job):
    code, out, err = ctl("plan", "--config", job, "--steps", "30", "--summary", "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    summary, steps = json.loads(out), harness.plan(job, 30)
    works = [[m["workload"] for m in step["microbatches"]] for step in steps]
    pieces = [(step["step"] - piece["arrived"], piece["length"])
              for step in steps for m in step["microbatches"] for piece in m["pieces"]]
    expected = {
        "imbalance": {"mean": sum(s["imbalance"] for s in steps) / 30,
                      "max": max(s["imbalance"] for s in steps)},
        "makespan_ratio": sum(map(max, works)) / sum(sum(w) / len(w) for w in works),
        "delay": {"mean": sum(d * n for d, n in pieces) / sum(n for _, n in pieces),
                  "max": max(d for d, _ in pieces)},
        "cp": {"busiest_over_ideal": busiest_over_ideal(steps)},
    }
    for name, value in expected.items():
        found = summary[name] if isinstance(value, dict) else {name: summary[name]}
        for key, number in (value if isinstance(value, dict) else {name: value}).items():
            assert found[key] == pytest.approx(number, rel=1e-6), (name, key)
    assert summary["steps"] == 30 and summary["from"] == 0 and summary["end"] is False
    assert summary["pieces"] == len(pieces)
    assert summary["tokens"] == sum(step["tokens"] for step in steps)
    assert summary["longest"] == max(m["tokens"] for s in steps for m in s["microbatches"])
    assert summary["digest"] == steps[-1]["digest"]
    text = ctl("plan", "--config", job, "--steps", "30", "--summary")[1]
    assert f"\nmakespan ratio   {expected['makespan_ratio']:.4f}\n" in text


def test_plan_takes_overrides(job):
    one = harness.plan(job, 2, "--set", "seed=99")
    other = harness.plan(job, 2, "--set", "seed=98", "--set", "seed=99")
    assert one == other != harness.plan(job, 2)


def test_plan_ends_with_the_data(small_corpus, workplace):
    job = workplace.write("finite", harness.configuration(small_corpus, epochs=1))
    code, out, err = ctl("plan", "--config", job, "--steps", "100000", "--summary", "--json")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["end"] is True and summary["steps"] > 1
    assert ctl("plan", "--config", job, "--from", summary["steps"]) == (
        64, "", f"ballastctl: plan: the data ends before step {summary['steps']}: the job has "
                f"{summary['steps']} steps\n")


def test_plan_shows_how_thresholds_were_chosen(job):
    arguments = ["--config", job, "--set", "packing={policy: wlb, outlier_thresholds: auto}"]
    code, out, err = ctl("plan", *arguments, "--summary", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    candidates = told["outlier_thresholds"]["candidates"]
    assert len(candidates) > 3
    assert [c["score"] for c in candidates] == sorted(c["score"] for c in candidates)
    for candidate in candidates:
        expected = candidate["makespan_ratio"] - 1 + candidate["delay"] / 10
        assert candidate["score"] == pytest.approx(expected, abs=2e-6)
    code, out, err = ctl("plan", *arguments, "--summary")
    assert (code, err) == (0, "")
    assert f"auto chose the first of {len(candidates)} candidates" in out
    chosen = candidates[0]["thresholds"]
    given = harness.plan(job, 3, "--set",
                         f"packing={{policy: wlb, outlier_thresholds: {chosen}}}")
    assert harness.plan(job, 3, *arguments[2:]) == given


def test_the_solver_plans_but_is_not_served(job):
    setting = "packing={policy: fixed-solver, window: 2}"
    code, out, err = ctl("plan", "--config", job, "--set", setting, "--summary", "--json")
    if code == 78:  # a build without the solver says what it lacks
        assert "libglpk-dev" in err
        return
    assert (code, err) == (0, "")
    facts = json.loads(out)["packing"]
    assert facts["windows"] == 5 and 0 <= facts["gap_mean"] <= facts["gap_max"]
    code, out, err = ctl("plan", "--config", job, "--set", setting, "--summary")
    assert code == 0 and "\nfixed-solver     windows 5, gap_mean " in out
    done = harness.run([harness.program("ballastd"), "--config", str(job), "--set", setting])
    assert done.returncode == 78 and b"is for studies and is not served" in done.stderr


def test_configuration_errors(job, tmp_path):
    code, out, err = ctl("plan", "--config", tmp_path / "absent.yaml")
    assert (code, out) == (66, "") and "absent.yaml" in err
    (tmp_path / "bad.yaml").write_text("job: x\nbogus: 1\n")
    code, out, err = ctl("plan", "--config", tmp_path / "bad.yaml")
    assert (code, out) == (78, "") and "bogus" in err and "bad.yaml:2" in err.replace(" line ", "")
    code, out, err = ctl("plan", "--config", job, "--set", "packing.policy=best")
    assert (code, out) == (78, "") and "packing.policy" in err and "wlb" in err
    code, out, err = ctl("status", "--config", tmp_path / "bad.yaml")
    assert (code, out) == (78, "") and "bogus" in err


def test_a_bad_shard_stops_planning(job, shards):
    sources = f"sources=[{{name: s, format: megatron, paths: ['{shards}/short.idx']}}]"
    code, out, err = ctl("plan", "--config", job, "--set", sources)
    assert (code, out) == (65, "") and "short" in err


# Nobody there, nowhere to write


def test_no_daemon(workplace, job):
    socket = workplace.path("absent")
    assert ctl("status", "--admin", f"ipc://{socket}", "--timeout", "10") == (
        69, "", f"ballastctl: status: no daemon answers at ipc://{socket} within 10 ms: {socket}: "
                "No such file or directory; is ballastd running, with serve.admin at this "
                "endpoint?\n")
    code, out, err = ctl("drain", "--config", job, "--timeout", "10", "--json")
    admin = harness.settings(job)["serve"]["admin"]
    assert (code, out) == (69, "") and f"no daemon answers at {admin} within 10 ms" in err
    endpoint = f"tcp://127.0.0.1:{harness.free_port()}"
    assert ctl("fetch", "--endpoint", endpoint, "--step", 0, "--microbatch", 0, "--cp-rank", 0,
               "--timeout", 10) == (
        69, "", f"ballastctl: fetch: no daemon answers at {endpoint}: is ballastd running, with "
                "serve.endpoint there?\n")


@pytest.mark.parametrize("arguments", [["verify", "good.idx"], ["--help"], ["--version"]])
def test_a_full_disk_is_an_error(shards, arguments):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([harness.program("ballastctl"), *arguments], stdout=full,
                              stderr=subprocess.PIPE, cwd=shards, check=False,
                              timeout=harness.DEADLINE_S)
    assert done.returncode == 74
    assert done.stderr.endswith(b"cannot write the output: No space left on device\n")


def test_a_closed_pipe_ends_the_program_with_an_error_and_no_signal(job):
    process = subprocess.Popen(
        [harness.program("ballastctl"), "plan", "--config", job, "--json", "--steps", "1000000000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert json.loads(process.stdout.readline())["step"] == 0
    process.stdout.close()
    assert process.wait(timeout=harness.DEADLINE_S) == 74
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_closed_descriptor_is_an_error(shards):
    done = subprocess.run(["sh", "-c", '"$0" verify good.idx >&-',
                           harness.program("ballastctl")], cwd=shards, stderr=subprocess.PIPE,
                          check=False, timeout=harness.DEADLINE_S)
    assert done.returncode == 74
    assert done.stderr.endswith(b"cannot write the output: Bad file descriptor\n")


def test_an_interrupted_import_leaves_nothing(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"hello")
    process = subprocess.Popen(
        [harness.program("ballastctl"), "import", "--out", "t", *["a.txt"] * 20000], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=harness.DEADLINE_S)
    assert process.returncode in (-signal.SIGINT, 0), err
    left = set(os.listdir(tmp_path)) - {"a.txt"}
    assert left in (set(), {"t.bin", "t.idx"})


def test_an_import_that_outgrows_the_limit_is_an_error_and_leaves_nothing(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"hello" * 4000)
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 4; exec "$0" import --out t a.txt',
         harness.program("ballastctl")], cwd=tmp_path, capture_output=True, check=False,
        timeout=harness.DEADLINE_S)
    assert done.returncode == 74, done
    assert done.stderr.endswith(b"t.bin: cannot be written: File too large\n")
    assert os.listdir(tmp_path) == ["a.txt"]


def on_a_terminal(arguments, cwd, **environment):
    """What a terminal gets to see."""
    terminal, ours = os.openpty()
    process = subprocess.Popen([harness.program("ballastctl"), *arguments], stdout=ours,
                               stderr=ours, cwd=cwd,
                               env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment})
    os.close(ours)
    seen = b""
    try:
        while part := os.read(terminal, 4096):
            seen += part
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    assert process.wait(timeout=harness.DEADLINE_S) == 0
    return seen.decode().replace("\r\n", "\n")


def test_colour_and_progress_are_for_terminals(shards):
    arguments = ["verify", "good.idx", "lengths.txt"]
    seen = on_a_terminal(arguments, shards)
    assert "\033[32mok\033[0m good.idx documents=3 tokens=5\n" in seen
    assert "checking shard 2 of 2: lengths.txt" in seen
    plain = on_a_terminal(arguments, shards, NO_COLOR="1")
    assert "\033[32m" not in plain and "ok good.idx documents=3 tokens=5\n" in plain
    assert "\033[32m" not in on_a_terminal(arguments, shards, TERM="dumb")
