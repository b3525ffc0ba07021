"""ballastctl simulate: its figures against those of `plan`, its JSON to the key, its picture, its
recommendation."""
import json
import os
import random
import xml.etree.ElementTree as xml

import pytest

import harness
from test_cli import ctl, on_a_terminal

WINDOW = 8192
KEYS = {
    "policy": str, "sharding": str, "steps": int, "documents": int, "tokens": int,
    "documents_per_second": float, "imbalance": {"mean", "p99", "max"}, "makespan_ratio": float,
    "delay": {"mean", "max"}, "longest": int, "pack_us": {"mean", "p99"},
    "cp": {"busiest_over_ideal"}, "step_time": {"mean", "p99"},
    "levels": {"work", "cp", "bubble", "pp", "dp"}, "speedup": float,
    "equal_work_speedup": float, "crossover_tokens": float,
    "unit": str,
}


@pytest.fixture(scope="module")
def lengths(tmp_path_factory):
    """A file of 20,000 lengths, some over the window."""
    rng, path = random.Random(3), tmp_path_factory.mktemp("lengths") / "lengths.txt"
    path.write_text("".join(f"{1 + int(rng.lognormvariate(5.5, 1.4))}\n" for _ in range(20000)))
    return str(path)


@pytest.fixture
def job(lengths, workplace):
    return workplace.write("job", {
        "job": "simulated <&>", "seed": 7,
        "sources": [{"name": "web", "format": "lengths", "paths": [lengths], "weight": 1,
                     "epochs": "repeat"}],
        "parallel": {"dp": 2, "pp": 2, "cp": 2, "tp": 1, "microbatches": 4},
        "context_window": WINDOW, "max_sequence_length": 2 * WINDOW,
        "packing": {"policy": "wlb"}, "sharding": {"strategy": "per-document"},
        "cost": {"crossover_tokens": 2048},
    })


def fragment_of(text):
    """A fragment of two levels, its values numbers, lists or words, as a dictionary."""
    found, section = {}, None
    for line in text.splitlines():
        key, value = (part.strip() for part in line.split(":"))
        if not value:
            section = found.setdefault(key, {})
        else:
            value = value if value[0].isalpha() else json.loads(value)
            (section if line.startswith(" ") else found)[key] = value
    return found


def simulate(config, *arguments):
    text = harness.ctl("simulate", "--config", config, "--json", *arguments)
    return [json.loads(line) for line in text.splitlines()]


def test_json_has_exactly_these_keys(job):
    lines = simulate(job, "--steps", 20)
    for line in lines:
        assert set(line) == set(KEYS)
        for key, kind in KEYS.items():
            if isinstance(kind, set):
                assert set(line[key]) == kind, key
            else:
                assert isinstance(line[key], kind), key
        assert line["steps"] == 20 and line["unit"] == "token/1024"
        assert line["crossover_tokens"] == 2048
        assert line["imbalance"]["mean"] <= line["imbalance"]["p99"] <= line["imbalance"]["max"]
        assert line["documents_per_second"] > 0 and line["pack_us"]["mean"] > 0
    baseline = lines[0]
    assert (baseline["policy"], baseline["sharding"], baseline["speedup"]) == (
        "plain", "per-sequence", 1)
    assert [(line["policy"], line["sharding"]) for line in lines[1:]][:3] == [
        ("plain", "per-document"), ("fixed-greedy", "per-document"), ("wlb", "per-document")]


def test_policies_and_shardings_are_those_asked_for(job):
    lines = simulate(job, "--steps", 5, "--policies", "wlb,plain",
                     "--shardings", "adaptive,per-sequence")
    assert [(line["policy"], line["sharding"]) for line in lines] == [
        ("plain", "per-sequence"), ("wlb", "adaptive"), ("wlb", "per-sequence"),
        ("plain", "adaptive")]


def test_figures_are_those_of_the_plan_without_its_first_ten_steps(job):
    for line in simulate(job, "--steps", 25, "--policies", "wlb,fixed-greedy"):
        summary = json.loads(harness.ctl(
            "plan", "--config", job, "--from", 10, "--steps", 25, "--summary", "--json",
            "--set", f"packing.policy={line['policy']}",
            "--set", f"sharding.strategy={line['sharding']}"))
        for key in ("tokens", "makespan_ratio", "delay", "longest"):
            assert line[key] == pytest.approx(summary[key]), key
        for key in ("mean", "max"):
            assert line["imbalance"][key] == pytest.approx(summary["imbalance"][key])
        assert line["cp"]["busiest_over_ideal"] == pytest.approx(
            summary["cp"]["busiest_over_ideal"])


def pipeline_end(times, stages):
    """When the last backward pass of a 1F1B pipeline is done, pass by pass."""
    count, done, at = len(times), {}, [0.0] * stages
    order = []
    for stage in range(stages):
        ahead = min(count, stages - stage - 1)
        passes = [("f", i) for i in range(ahead)]
        for i in range(count):
            passes += [("f", ahead + i)] * (ahead + i < count) + [("b", i)]
        order.append(passes)
    while any(order):
        for stage in range(stages):
            while order[stage]:
                kind, i = order[stage][0]
                needs = ((("f", stage - 1, i) if stage else None) if kind == "f" else
                         ("b", stage + 1, i) if stage + 1 < stages else ("f", stage, i))
                if needs and needs not in done:
                    break
                start = max(at[stage], done[needs] if needs else 0.0)
                at[stage] = done[kind, stage, i] = start + times[i] * (1 if kind == "f" else 2) / 3
                order[stage].pop(0)
    return max(at)


def test_step_time_is_that_of_the_pipeline(job):
    """Worked out again from the plan: busiest CP rank, 1F1B, slowest replica."""
    wlb = simulate(job, "--steps", 12, "--policies", "wlb")[1]
    steps = []
    for step in harness.plan(job, 12, "--from", 10):
        replicas = [[], []]
        for microbatch in step["microbatches"]:
            busiest = max(rank["attention"] for rank in microbatch["ranks"])
            linear = 1024 * microbatch["padded_tokens"]
            replicas[microbatch["dp"]].append((busiest * 2 * 1024 / 2048 + linear) / 2)
        steps.append(max(pipeline_end(times, 2) for times in replicas))
    assert wlb["step_time"]["mean"] == pytest.approx(sum(steps) / 12, rel=1e-5)
    assert wlb["step_time"]["p99"] == pytest.approx(max(steps), rel=1e-5)
    levels = wlb["levels"]
    assert levels["work"] <= levels["cp"] <= levels["bubble"] <= levels["pp"] <= levels["dp"]
    assert levels["dp"] == pytest.approx(wlb["step_time"]["mean"])
    assert levels["bubble"] == pytest.approx(levels["cp"] * 5 / 4)


def test_speedup_is_of_tokens_a_second(job):
    lines = simulate(job, "--steps", 30)
    rates = [line["tokens"] / line["step_time"]["mean"] for line in lines]
    for line, rate in zip(lines, rates):
        assert line["speedup"] == pytest.approx(rate / rates[0], rel=1e-6)
        efficiencies = [each["levels"]["work"] / each["levels"]["dp"] for each in (line, lines[0])]
        assert line["equal_work_speedup"] == pytest.approx(
            efficiencies[0] / efficiencies[1], rel=1e-6)
    wlb = next(line for line in lines if line["policy"] == "wlb")
    assert wlb["speedup"] > 1.05
    assert wlb["imbalance"]["mean"] < lines[0]["imbalance"]["mean"]


def test_tables_line_up(job):
    code, out, err = ctl("simulate", "--config", job, "--steps", "15")
    assert (code, err) == (0, "")
    facts, variants, levels = out.split("\n\n")
    assert "B = 2,048 tokens" in facts and "15 counted" in facts
    header, *rows = variants.splitlines()
    assert header.split()[:3] == ["policy", "sharding", "imbalance"]
    assert {len(row) for row in rows} == {len(header)} and len(header) <= 125
    assert rows[0].split()[:2] == ["plain", "per-sequence"]
    assert rows[0].split()[-2:] == ["1.000", "1.000"]
    table = levels.splitlines()[-len(rows) - 1:]
    assert {len(row) for row in table} == {len(table[0])}
    assert [row.split()[:2] for row in table[1:]] == [row.split()[:2] for row in rows]


@pytest.mark.parametrize("arguments, words", [
    (["--steps", "0"], "--steps: found 0, expected 1 to"),
    (["--policies", "wlb,best"], "--policies: found 'best', expected names by commas, of plain"),
    (["--policies", "wlb,"], "--policies: found '', expected names"),
    (["--shardings", "whole"], "--shardings: found 'whole', expected names by commas, of per-seq"),
])
def test_usage_errors(job, arguments, words):
    code, out, err = ctl("simulate", "--config", job, *arguments)
    assert (code, out) == (64, "") and words in err


def test_data_that_ends(job, lengths):
    once = ["--set", "sources.web.epochs=1"]
    lines = simulate(job, "--steps", 1000000, *once)
    assert 20 < lines[0]["steps"] < 1000000
    assert sum(1 for line in open(lengths, encoding="ascii")) > lines[0]["documents"]
    code, out, err = ctl("simulate", "--config", job, *once, "--set", "context_window=1048576",
                         "--set", "max_sequence_length=1048576")
    assert (code, out) == (64, "") and "the data ends after" in err and "warm up" in err


def test_plot_is_well_formed_and_whole(job, tmp_path):
    picture = tmp_path / "gain.svg"
    code, out, err = ctl("simulate", "--config", job, "--steps", 20, "--plot", picture)
    assert (code, err) == (0, "") and out
    root = xml.parse(picture).getroot()
    name = "{http://www.w3.org/2000/svg}"
    assert root.tag == name + "svg" and root.find(name + "title").text == (
        "Balance of work: simulated <&>")
    texts = {element.text for element in root.iter(name + "text")}
    assert {"step", "plain, per-sequence", "mean delay of a token (steps)", "wlb"} <= texts
    # A mark for each of 8 micro-batches of 20 steps, before and after.
    marks = [e for e in root.iter() if "mark" in e.get("class", "").split()]
    assert len(marks) > 2 * 8 * 20
    assert os.listdir(tmp_path) == ["gain.svg"]
    code, out, err = ctl("simulate", "--config", job, "--steps", 5, "--plot",
                         tmp_path / "absent" / "gain.svg")
    assert code in (73, 74) and "absent" in err


def test_recommendation_can_be_merged_and_is_within_the_cap(job, workplace, tmp_path):
    *lines, last = simulate(job, "--steps", 20, "--recommend", "--plot", tmp_path / "all.svg")
    assert all(set(line) == set(KEYS) for line in lines)
    found = last["recommend"]
    assert set(last) == {"recommend"} and found["max_sequence_length"] <= 2 * WINDOW
    assert found["equal_work_speedup"] >= max(line["equal_work_speedup"] for line in lines) * 0.97
    assert found["policy"] in found["why"] and str(found["max_sequence_length"]) in found["why"]
    merged = harness.settings(job)
    for key, value in fragment_of(found["yaml"]).items():
        merged[key] = {**merged[key], **value} if isinstance(value, dict) else value
    again = simulate(workplace.write("merged", merged), "--steps", found["steps"],
                     "--policies", found["policy"])
    same = next(line for line in again if line["policy"] == found["policy"]
                and line["sharding"] == found["sharding"])
    assert same["speedup"] == pytest.approx(found["speedup"], rel=1e-6)
    assert same["delay"]["mean"] == pytest.approx(found["delay"]["mean"], rel=1e-6)
    xml.parse(tmp_path / "all.svg")


def test_recommendation_for_people(job):
    code, out, err = ctl("simulate", "--config", job, "--steps", "5", "--recommend")
    assert (code, err) == (0, "")
    text = out[out.index("Recommended"):]
    fragment, why = text.split("\n\n")[1:3]
    assert set(fragment_of(fragment)) == {"max_sequence_length", "packing", "sharding"}
    assert max(map(len, why.splitlines())) <= 80 and why.rstrip().endswith(".")


def test_recommend_does_not_take_a_default_of_plain_for_a_limit(job, workplace):
    config = harness.settings(job)
    del config["max_sequence_length"]
    config["packing"] = {"policy": "plain"}
    found = simulate(workplace.write("plain", config), "--steps", 5, "--recommend")[-1]
    assert found["recommend"]["policy"] != "plain"
    assert found["recommend"]["max_sequence_length"] > WINDOW


def test_a_bar_shows_progress_on_a_terminal(job, tmp_path):
    seen = on_a_terminal(["simulate", "--config", job, "--steps", "20000", "--policies", "wlb"],
                         tmp_path)
    assert "] " in seen and "wlb, per-document: step " in seen and "#" in seen


def test_real_text(workplace):
    import corpora
    corpus = corpora.real()
    if not corpus:
        pytest.skip("the real corpus is not here")
    job = workplace.write("real", harness.configuration(corpus, window=16384))
    lines = simulate(job, "--steps", 40)
    assert lines[0]["documents"] > 100
    assert next(line for line in lines if line["policy"] == "wlb")["equal_work_speedup"] > 1
