#!/usr/bin/env python3
"""FlashAttention as PyTorch has it on the cases of `speed`, and the table of both: flash.py FILE.

FILE is what `speed` printed. Each q:kv is a sequence of its own for FlashAttention, its keys laid
out once more where sequences share them, which is not timed and makes it none the slower. Without
PyTorch, or without a GPU that it sees, the table has our columns only.
"""

import statistics
import sys

WARM_UP, REPEATS = 3, 10
FORWARD_FLOPS, BACKWARD_FLOPS = 4.0, 10.0


def read(path):
    """({case: (heads, kv_heads, head_dim, [(q, kv)])}, {(case, path, pass): TFLOP/s})"""
    cases, results = {}, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "case":
                pairs = [tuple(map(int, word.split(":"))) for word in fields[5].split(",")]
                cases[fields[1]] = (*map(int, fields[2:5]), pairs)
            elif fields[0] == "result":
                results[fields[1], fields[2], fields[3]] = float(fields[5])
    return cases, results


def pairs_of(sequences):
    """Query-key pairs: row i of q sees kv - q + i + 1 keys."""
    return sum(q * (2 * kv - q + 1) // 2 for q, kv in sequences)


def offsets(torch, lengths):
    sums = torch.tensor([0] + lengths).cumsum(0)
    return sums.to(device="cuda", dtype=torch.int32)


def varlen(torch):
    """FlashAttention over sequences of different lengths, by the name that this version has."""
    try:
        from torch.nn.attention.varlen import varlen_attn

        def public(q, k, v, cu_q, cu_k, most_q, most_k):
            return varlen_attn(q, k, v, cu_q, cu_k, most_q, most_k, is_causal=True)
        return public
    except (ImportError, TypeError):
        def private(q, k, v, cu_q, cu_k, most_q, most_k):
            return torch.ops.aten._flash_attention_forward(
                q, k, v, cu_q, cu_k, most_q, most_k, 0.0, True, False)[0]
        return private


def seconds(torch, work):
    """The median time of `work`, by events."""
    times = []
    for run in range(WARM_UP + REPEATS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        if run >= WARM_UP:
            times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times)


def measure(torch, case):
    """(forward, backward) TFLOP/s"""
    heads, kv_heads, head_dim, sequences = case
    q_lengths, kv_lengths = [q for q, _ in sequences], [kv for _, kv in sequences]

    def tensor(tokens):
        # All query heads' keys are laid out, so that no version's lack of GQA matters.
        return torch.randn(tokens, heads, head_dim, device="cuda", dtype=torch.bfloat16,
                           requires_grad=True)
    q, k, v = tensor(sum(q_lengths)), tensor(sum(kv_lengths)), tensor(sum(kv_lengths))
    attention = varlen(torch)
    arguments = (q, k, v, offsets(torch, q_lengths), offsets(torch, kv_lengths), max(q_lengths),
                 max(kv_lengths))
    with torch.no_grad():
        forward = seconds(torch, lambda: attention(*arguments))
    out = attention(*arguments)
    gradient = torch.randn_like(out)
    backward = seconds(torch, lambda: torch.autograd.grad(out, (q, k, v), gradient,
                                                          retain_graph=True))
    unit = pairs_of(sequences) * heads * head_dim / 1e12
    return FORWARD_FLOPS * unit / forward, BACKWARD_FLOPS * unit / backward


def flash(cases):
    """{(case, pass): TFLOP/s or why not}"""
    try:
        import torch
    except ImportError:
        return {}, "no PyTorch here"
    if not torch.cuda.is_available():
        return {}, "PyTorch sees no GPU"
    found = {}
    for name, case in cases.items():
        try:
            found[name, "forward"], found[name, "backward"] = measure(torch, case)
        except (RuntimeError, TypeError) as error:  # too large for it, or another signature
            print(f"FlashAttention, {name}: {str(error).splitlines()[0]}", file=sys.stderr)
        torch.cuda.empty_cache()
    return found, f"PyTorch {torch.__version__}"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: flash.py FILE")
    cases, results = read(sys.argv[1])
    if not results:
        sys.exit(f"{sys.argv[1]}: no results")
    theirs, source = flash(cases)
    print(f"TFLOP/s, bf16, causal; FlashAttention: {source}")
    print(f"{'case':34} {'pass':9} {'mma':>7} {'wgmma':>7} {'Flash':>7}")
    for name in cases:
        for direction in ("forward", "backward"):
            row = [results.get((name, path, direction)) for path in ("mma", "wgmma")]
            row.append(theirs.get((name, direction)))
            text = " ".join("      -" if value is None else f"{value:7.1f}" for value in row)
            print(f"{name:34} {direction:9} {text}")


if __name__ == "__main__":
    main()
