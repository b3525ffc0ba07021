"""The figures of the WLB-LLM paper (OSDI'25) beside those of `ballastctl simulate`.

    paper.py [STEPS]     default 400 counted steps

Prints, table by table: what | paper | ours | ours - paper, and below each table where the two part
and the likely why. Paper figures are those that its text and tables quote; "-" is one that
it does not give.

Ours are predictions: W = d + d^2/B on data/lengths-wlbllm.txt (a generated stand-in where that is
absent), shuffled, documents cut at the window. B of the 7B model is 24576, the value that
reproduces the paper's packing table; the other models' B are scaled by what their shapes need in
FLOPs. Shapes are Llama-like public ones, because the paper names only sizes. S_max is twice the
window, thresholds are S/4 and 5S/8 unless a row says otherwise. Speed-ups are given twice:
  tokens      tokens a second over plain packing with per-sequence sharding
  equal work  work a second: plain cuts documents at windows, and parts need less attention
"""
import json
import os
import textwrap

from figures import DATA, start

import harness
import packing as packing_bench

K = 1024
B_OF_7B = 24576
SOLVER_NODES = 200
BASELINE = ("plain", "per-sequence")
LENGTHS = os.path.join(DATA, "lengths-wlbllm.txt")

# layers, hidden, heads, kv heads, ffn; vocabulary 32000 for all
SHAPES = {
    "550M": (16, 1536, 16, 16, 4096),
    "7B": (32, 4096, 32, 32, 11008),
    "30B": (60, 6656, 52, 52, 17920),
    "70B": (80, 8192, 64, 8, 28672),
}
# model, window: (tp, cp, pp, dp) of the paper's runs
LAYOUTS = [
    ("550M", 64, (2, 2, 4, 2)), ("550M", 128, (2, 4, 4, 1)),
    ("7B", 64, (4, 2, 4, 1)), ("7B", 128, (8, 2, 4, 1)),
    ("30B", 64, (8, 2, 4, 1)), ("30B", 128, (8, 4, 4, 1)),
    ("70B", 64, (16, 4, 4, 1)), ("70B", 128, (16, 4, 4, 1)),
]


def flops_crossover(shape):
    """Length at which attention takes as many FLOPs as the rest, forward and backward."""
    layers, hidden, heads, kv_heads, ffn = shape
    kv = hidden * kv_heads / heads
    linear = layers * 2 * (2 * hidden * hidden + 2 * hidden * kv + 3 * hidden * ffn)
    linear += 2 * hidden * 32000
    return 3 * linear / (3.5 * layers * 2 * hidden)


def crossover(model):
    return round(B_OF_7B * flops_crossover(SHAPES[model]) / flops_crossover(SHAPES["7B"]))


def job(lengths, window, layout, crossover_tokens):
    """A job in the paper's way: as many micro-batches a replica as pipeline stages."""
    tp, cp, pp, dp = layout
    return {
        "job": "paper", "seed": 1, "vocab_size": 50257,
        "sources": [{"name": "lengths", "format": "lengths", "paths": [lengths], "weight": 1,
                     "epochs": "repeat"}],
        "parallel": {"dp": dp, "pp": pp, "cp": cp, "tp": tp, "microbatches": pp},
        "context_window": window, "max_sequence_length": 2 * window,
        "packing": {"policy": "wlb", "outlier_thresholds": [window // 4, window * 5 // 8]},
        "sharding": {"strategy": "adaptive"}, "cost": {"crossover_tokens": crossover_tokens},
    }


class Bench:
    def __init__(self, place, lengths, steps):
        self.place, self.lengths, self.steps = place, lengths, steps

    def simulate(self, config, policies, shardings, sets=()):
        """{(policy, sharding): JSON}"""
        path = self.place.write("job", config)
        overrides = [word for setting in sets for word in ("--set", setting)]
        text = harness.ctl("simulate", "--config", path, "--json", "--policies", ",".join(policies),
                           "--shardings", ",".join(shardings), "--steps", self.steps, *overrides)
        lines = [json.loads(line) for line in text.splitlines()]
        return {(line["policy"], line["sharding"]): line for line in lines}

    def job_7b(self, window=128 * K, layout=(8, 2, 4, 1)):
        return job(self.lengths, window, layout, B_OF_7B)

    def builds(self, option, name):
        """Does this build know the policy or sharding?"""
        path = self.place.write("probe", self.job_7b())
        done = harness.run([harness.program("ballastctl"), "simulate", "--config", path,
                            "--steps", "1", option, name])
        return done.returncode == 0


def title(text):
    print(f"\n{text}\n{'what':<46} {'paper':>8} {'ours':>8} {'differs':>8}", flush=True)


def row(what, paper, ours, form="{:.3f}", more=""):
    """`paper` is None where it gives no figure."""
    told = "-" if paper is None else form.format(paper)
    differs = "-" if paper is None else f"{ours - paper:+.3f}"
    print(f"{what:<46} {told:>8} {form.format(ours):>8} {differs:>8}  {more}".rstrip(), flush=True)


def note(text):
    print(textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="  "))


def speeds(line, baseline):
    """(in tokens, at equal work) over another line of the same run."""
    def efficiency(each):
        return each["levels"]["work"] / each["levels"]["dp"]
    return line["speedup"] / baseline["speedup"], efficiency(line) / efficiency(baseline)


def packing_row(bench, what, paper, policy, sets):
    lines = bench.simulate(bench.job_7b(), [policy], ["per-document"], sets)
    line = lines[policy, "per-document"]
    imbalance, milliseconds = paper
    packed = line["pack_us"]["mean"] / 1000
    more = (f"{packed:8.3f} ms (paper {milliseconds}), delay {line['delay']['mean']:.2f}, "
            f"makespan ratio {line['makespan_ratio']:.4f}")
    row(what, imbalance, line["imbalance"]["mean"], more=more)
    return line["imbalance"]["mean"]


def packing_table(bench):
    title("Packing, 7B at 128K: imbalance, time to pack a global batch")
    fixed = [packing_row(bench, "original order", (1.44, 0), "plain", [])]
    for window, paper in zip((1, 2, 4, 8), ((1.41, 4), (1.22, 5), (1.11, 5), (1.08, 5))):
        fixed.append(packing_row(bench, f"fixed-length greedy over {window}", paper,
                                 "fixed-greedy", [f"packing.window={window}"]))
    if bench.builds("--policies", "fixed-solver"):
        for window, paper in zip((1, 2, 4), ((1.40, 467), (1.18, 1488), (1.09, 25313))):
            packing_row(bench, f"fixed-length solver over {window}", paper, "fixed-solver",
                        [f"packing.window={window}", f"packing.solver_nodes={SOLVER_NODES}"])
    queues = []
    for levels, paper in (([96], (1.24, 8)), ([32], (1.24, 8)), ([32, 80], (1.05, 20)),
                          ([16, 48, 96], (1.05, 23))):
        thresholds = [level * K for level in levels]
        queues.append(packing_row(
            bench, f"WLB-LLM, {len(levels)} queue{'s'[:len(levels) - 1]} {levels}K", paper, "wlb",
            [f"packing.outlier_thresholds={thresholds}"]))
    if bench.builds("--policies", "adaptive"):
        packing_row(bench, "adaptive (ours)", (None, "-"), "adaptive", [])
    in_order = fixed == sorted(fixed, reverse=True) and queues == sorted(queues, reverse=True)
    verdict = "is" if in_order and queues[2] < fixed[-1] else "is NOT"
    note(f"The order of fixed windows, and of queues, {verdict} the paper's; two queues beat all "
         "of the former. The paper states no thresholds: 1.24 of one queue is near what 96K "
         "gives; 32K to 80K does better. Another shuffle changes figures by up to 0.03. Ours "
         f"packs in microseconds; the solver's search is cut short at {SOLVER_NODES} nodes.")


def fixed_best(lines):
    """Fixed-4D: greedy packing within a global batch, and the better static sharding."""
    return max((lines["fixed-greedy", sharding] for sharding in ("per-sequence", "per-document")),
               key=lambda line: line["speedup"])


def layouts_table(bench):
    title("Speed-ups of the eight layouts over Plain-4D: tokens (equal work)")
    policy = "adaptive" if bench.builds("--policies", "adaptive") else "wlb"
    sharding = "hybrid" if bench.builds("--shardings", "hybrid") else "adaptive"
    means = {"Fixed-4D": [], "WLB-LLM": []}
    for model, window, layout in LAYOUTS:
        config = job(bench.lengths, window * K, layout, crossover(model))
        lines = bench.simulate(config, ["plain", "fixed-greedy", "wlb"],
                               ["per-sequence", "per-document", "adaptive"])
        chosen = {"Fixed-4D": fixed_best(lines), "WLB-LLM": lines["wlb", "adaptive"]}
        for system, line in chosen.items():
            tokens, work = speeds(line, lines[BASELINE])
            means[system].append((window, tokens, work))
            more = f"({work:.3f}), B {crossover(model)}" if system == "WLB-LLM" else f"({work:.3f})"
            row(f"{model} {window}K {layout} {system}", None, tokens, more=more)
        if (policy, sharding) != ("wlb", "adaptive"):
            lines = bench.simulate(config, [policy], [sharding])
            tokens, work = speeds(lines[policy, sharding], lines[BASELINE])
            row(f"{model} {window}K {layout} {policy} + {sharding}", None, tokens,
                more=f"({work:.3f})")
    return means


def average(values):
    values = list(values)
    return sum(values) / len(values)


def averages_table(means):
    title("Averages over the layouts: tokens (equal work)")
    for what, paper, system, windows in (
            ("Fixed-4D over Plain-4D", 1.03, "Fixed-4D", (64, 128)),
            ("WLB-LLM over Plain-4D", 1.23, "WLB-LLM", (64, 128)),
            ("WLB-LLM over Plain-4D at 64K", 1.15, "WLB-LLM", (64,)),
            ("WLB-LLM over Plain-4D at 128K", 1.30, "WLB-LLM", (128,))):
        picked = [each for each in means[system] if each[0] in windows]
        row(what, paper, average(tokens for _, tokens, _ in picked),
            more=f"({average(work for _, _, work in picked):.3f})")
    note("Fixed-4D gains more here: it is the sharding, which gains more in our tile model than "
         "the paper's kernel measured (last tables). WLB-LLM agrees in tokens. At equal work it "
         "gains more, for Plain saves about a tenth of its work where it cuts documents, of which "
         "the paper does not speak. What ours leaves out: interleaving (it would shrink the "
         "bubble, here 3/4 of the work) and the K/V all-gather.")


def breakdown_table(bench):
    title("7B at 128K, step by step over Plain-4D: tokens (equal work)")
    lines = bench.simulate(bench.job_7b(), ["plain", "wlb"],
                           ["per-sequence", "per-document", "adaptive"])
    for what, paper, key in (
            ("per-document sharding", 1.02, ("plain", "per-document")),
            ("adaptive sharding", 1.05, ("plain", "adaptive")),
            ("packing with delay", 1.28, ("wlb", "per-sequence")),
            ("all", 1.33, ("wlb", "adaptive"))):
        tokens, work = speeds(lines[key], lines[BASELINE])
        row(what, paper, tokens, more=f"({work:.3f})")
    wlb = lines["wlb", "adaptive"]["levels"]
    plain = lines[BASELINE]["levels"]
    for what, level, before in (("CP", "cp", "work"), ("bubble", "bubble", "cp"),
                                ("PP", "pp", "bubble"), ("DP", "dp", "pp")):
        note(f"{what:<7} multiplies the time of plain by {plain[level] / plain[before]:.3f}, "
             f"of wlb by {wlb[level] / wlb[before]:.3f}")
    note("The product is near, its parts are not. Sharding gains more here (next but one table). "
         "Packing gains less: in 1F1B without barriers a long micro-batch costs its stage once "
         f"and is partly hidden, which makes {plain['pp'] / plain['bubble']:.2f} of a makespan "
         f"ratio of {lines[BASELINE]['makespan_ratio']:.2f}; stages in lock-step, as blocking "
         "sends between them tend to make it, would pay the whole ratio. The paper's 1.28 lies "
         "between the two.")


def windows_table(bench):
    title("7B, windows: WLB-LLM over Plain-4D: tokens (equal work)")
    for window in (32, 64, 96, 128, 160):
        paper = {160: 1.40}.get(window)
        config = bench.job_7b(window * K)
        lines = bench.simulate(config, ["wlb"], ["adaptive"])
        tokens, work = speeds(lines["wlb", "adaptive"], lines[BASELINE])
        row(f"{window}K", paper, tokens, more=f"({work:.3f})")
    note("It grows with the window, as the paper says. At 160K the paper's longest document fills "
         "the window; the file's has 124,913 tokens, so that ours falls behind.")


def sharding_table(bench):
    title("CP sharding, one 7B layer, CP 4, plain packing: layer time over per-sequence")
    for window, paper in ((64, 1.01), (128, 1.07)):
        config = bench.job_7b(window * K, (8, 4, 4, 1))
        shardings = ["per-sequence", "per-document", "adaptive"]
        if bench.builds("--shardings", "hybrid"):
            shardings.append("hybrid")
        lines = bench.simulate(config, ["plain"], shardings)
        time = {sharding: lines["plain", sharding]["levels"]["cp"] for sharding in shardings}
        base = time["per-sequence"]
        row(f"{window}K per-document", paper, base / time["per-document"])
        row(f"{window}K adaptive", 1.075 if window == 128 else None, base / time["adaptive"])
        row(f"{window}K adaptive over per-document", 1.034 if window == 128 else None,
            time["per-document"] / time["adaptive"])
        if "hybrid" in time:
            row(f"{window}K hybrid (ours)", None, base / time["hybrid"])
    note("The paper gives 7.5 % and 3.4 % for adaptive without a window; they stand at 128K. "
         "Per-document gains more here, likely because our tiles cost the same at any number of "
         "rows, whereas the paper's kernel runs chunks under 256 rows at a lower rate, and "
         "because its layer's time includes the all-gather, which no sharding shortens. Where "
         "per-document costs little, adaptive has nothing to choose.")


def window_trade_off(bench):
    title("Packing over several global batches: imbalance, and how far tokens move")
    for window, paper in ((1, 1.41), (2, 1.22), (4, 1.11), (8, 1.08)):
        lines = bench.simulate(bench.job_7b(), ["fixed-greedy"], ["per-document"],
                               [f"packing.window={window}"])
        line = lines["fixed-greedy", "per-document"]
        row(f"fixed-greedy over {window}", paper, line["imbalance"]["mean"],
            more=f"delay {line['delay']['mean']:.2f} mean, {line['delay']['max']} at most")
    line = bench.simulate(bench.job_7b(), ["wlb"], ["per-document"])["wlb", "per-document"]
    row("wlb, 2 queues", 1.05, line["imbalance"]["mean"],
        more=f"delay {line['delay']['mean']:.2f} mean (paper 0.5), {line['delay']['max']} at most")
    note("The paper: a window of 8 raises the loss by 1.6 % (550M), delaying outliers does not. "
         "The simulator trains nothing: it shows what moves, all tokens of a window or outliers "
         "alone.")


def main(steps=400):
    with harness.Workplace() as place:
        lengths, real = packing_bench.length_file(place)
        if not real:
            print("lengths-wlbllm.txt is not here: a generated stand-in gives other figures")
        bench = Bench(place, lengths, steps)
        packing_table(bench)
        averages_table(layouts_table(bench))
        breakdown_table(bench)
        windows_table(bench)
        sharding_table(bench)
        window_trade_off(bench)


if __name__ == "__main__":
    start(main, quick=(12,))
