"""ballastd and ballastctl against a second implementation, on real text where it is there."""
import json
from array import array

import pytest

import harness
import second_implementation as second
import second_packing
import second_sharding
from wire import batches

WINDOW, CP, TILE, STEPS = 16384, 2, 128, 60
ORDER_STEPS = STEPS + 12  # `plain` steps that hold all that other policies take in STEPS
TO_THE_END = 100000


def shape_of(config):
    parallel = config["parallel"]
    return second_packing.Shape(parallel["dp"] * parallel["microbatches"],
                                config["context_window"], config["max_sequence_length"],
                                config["cost"]["crossover_tokens"])


def stream_of(corpus, workplace, steps, **options):
    config = workplace.write("order", harness.configuration(corpus, "plain", **options))
    return second.stream_order(corpus, harness.plan(config, steps), WINDOW)


def expected_packing(policy, order, config, steps):
    shape = shape_of(config)
    if policy == "plain":
        return second_packing.plain(order, shape, steps)
    return second_packing.wlb(order, shape, config["packing"]["outlier_thresholds"], steps)


@pytest.fixture(params=["wlb", "plain"])
def policy(request):
    return request.param


def test_stream_is_shuffled_epochs_blended_by_tokens(corpus, workplace):
    order = stream_of(corpus, workplace, ORDER_STEPS)
    second.check_epochs(corpus, order)
    second.check_blend(corpus, order)


def test_packing_is_the_papers(corpus, workplace, policy):
    config = harness.configuration(corpus, policy)
    plan = harness.plan(workplace.write("job", config), STEPS)
    order = stream_of(corpus, workplace, ORDER_STEPS)
    assert [step["step"] for step in plan] == list(range(STEPS))
    pieces = second_packing.cut_at_windows(order, WINDOW) if policy == "plain" else order
    second.check_served_once(corpus, pieces, plan)
    second.check_packing(corpus, plan, expected_packing(policy, order, config, STEPS))
    second.check_counts(corpus, plan, shape_of(config))


def test_no_microbatch_over_its_cap(corpus, workplace, policy):
    config = harness.configuration(corpus, policy)
    for step in harness.plan(workplace.write("job", config), STEPS):
        for mb in step["microbatches"]:
            assert mb["tokens"] == sum(p["length"] for p in mb["pieces"])
            assert mb["tokens"] <= config["max_sequence_length"]
            assert policy != "plain" or mb["tokens"] == WINDOW
        assert step["tokens"] == sum(mb["tokens"] for mb in step["microbatches"])


def test_a_finite_run_serves_every_document_once(corpus, workplace, policy):
    config = harness.configuration(corpus, policy, epochs=1, last_step="serve")
    plan = harness.plan(workplace.write("job", config), TO_THE_END)
    order = stream_of(corpus, workplace, TO_THE_END, epochs=1)
    second.check_epochs(corpus, order)
    second.check_documents(corpus, plan)
    second.check_packing(corpus, plan, expected_packing(policy, order, config, len(plan)))
    assert plan[-1]["waiting"]["pieces"] == 0
    assert all(step["tokens"] > 0 for step in plan)


@pytest.mark.parametrize("windows", [1, 4])
def test_fixed_greedy_serves_the_pieces_of_plain(corpus, workplace, windows):
    config = harness.configuration(corpus, "fixed-greedy", epochs=1, packing={"window": windows})
    plan = harness.plan(workplace.write("job", config), TO_THE_END)
    order = stream_of(corpus, workplace, TO_THE_END, epochs=1)
    pieces = list(second_packing.cut_at_windows(order, WINDOW))
    second.check_documents(corpus, plan)
    second.check_served_once(corpus, pieces, plan)
    assert sum(len(mb["pieces"]) for step in plan for mb in step["microbatches"]) == len(pieces)
    assert all(mb["tokens"] <= WINDOW for step in plan for mb in step["microbatches"])


def test_a_dropped_last_step_is_all_that_is_missing(corpus, workplace, policy):
    served = harness.configuration(corpus, policy, epochs=1, last_step="serve")
    dropped = harness.configuration(corpus, policy, epochs=1, last_step="drop")
    longer = harness.plan(workplace.write("served", served), TO_THE_END)
    shorter = harness.plan(workplace.write("dropped", dropped), TO_THE_END)
    assert 0 < len(shorter) <= len(longer)
    for a, b in zip(longer, shorter):
        assert a["microbatches"] == b["microbatches"]


@pytest.mark.parametrize("strategy", ["per-sequence", "per-document", "adaptive", "hybrid"])
@pytest.mark.parametrize("cp", [1, 2, 4])
def test_chunks_are_the_rules(corpus, workplace, policy, strategy, cp):
    config = harness.configuration(corpus, policy, cp=cp, sharding={"strategy": strategy})
    for step in harness.plan(workplace.write("job", config), STEPS // 4):
        for mb in step["microbatches"]:
            second_sharding.check(mb, strategy, cp, TILE)


@pytest.mark.parametrize("strategy", ["adaptive", "hybrid"])
def test_fetch_writes_the_shards_bytes(corpus, workplace, policy, strategy):
    config = workplace.write("job", harness.configuration(corpus, policy,
                                                          sharding={"strategy": strategy}))
    plan = harness.plan(config, STEPS)
    with harness.Daemon(config) as daemon:
        for step in plan[::20] + plan[-1:]:
            for mb in step["microbatches"]:
                for rank in range(CP):
                    check_fetch(corpus, workplace, daemon, step, mb, rank)


def check_fetch(corpus, workplace, daemon, step, mb, rank):
    names = {part: workplace.path(part) for part in ("out", "labels", "positions")}
    line = json.loads(harness.ctl(
        "fetch", "--endpoint", daemon.endpoint, "--step", step["step"], "--microbatch",
        mb["index"], "--cp-rank", rank, "--json",
        *(word for part, path in names.items() for word in ("--" + part, path))))
    expected = second.expected_rank(corpus, mb, rank)
    for path, code, values in zip(names.values(), "Iii", expected):
        with open(path, "rb") as file:
            assert file.read() == array(code, values).tobytes(), (path, step["step"], mb["index"])
    assert line["digest"] == step["digest"] and line["tokens"] == len(expected[0])
    assert line["loss_tokens"] == sum(label != second.IGNORE for label in expected[1])
    assert line["microbatch_loss_tokens"] == mb["loss_tokens"]
    assert line["step_loss_tokens"] == step["loss_tokens"]


def test_every_rank_of_every_step_on_the_wire(corpus, workplace, policy):
    settings = harness.configuration(corpus, policy)
    config = workplace.write("job", settings)
    plan = harness.plan(config, STEPS)
    with harness.Daemon(config) as daemon:
        replies = batches(daemon.endpoint, range(STEPS), range(shape_of(settings).microbatches),
                          range(CP))
        for reply in replies:
            check_reply(corpus, reply, plan[reply.step])


def check_reply(corpus, reply, step):
    mb = step["microbatches"][reply.microbatch]
    assert reply.digest.hex() == step["digest"]
    assert reply.microbatch_tokens == mb["tokens"] and reply.step_tokens == step["tokens"]
    assert reply.microbatch_loss_tokens == mb["loss_tokens"]
    assert reply.step_loss_tokens == step["loss_tokens"]
    assert reply.workload == mb["workload"]
    assert reply.piece_rows() == [
        (p.document, p.offset, p.arrived, p.length, p.source,
         int(p.offset + p.length == corpus.sources[p.source].lengths[p.document]))
        for p in second.pieces_of(corpus, mb)]
    assert reply.chunk_rows() == [tuple(c) for rank in mb["ranks"] for c in rank["chunks"]]
    check_content(reply, second.expected_rank(corpus, mb, reply.cp_rank))


def check_content(reply, expected):
    """Tokens, labels and positions, then nothing but padding."""
    padding = reply.padded_tokens - reply.tokens
    for values, right, filler in zip(reply.assembled(), expected, (0, second.IGNORE, 0)):
        assert values[:reply.tokens] == right
        assert values[reply.tokens:] == array("i", [filler] * padding)
