#!/usr/bin/env python3
"""Fits the built-in device `h100` (daemon/cost/device.c) to the published latencies, and says how
far off the fit is: least squares of relative errors, every tp and cp together."""
import h100_data


def solve(matrix, right):
    """Gauss with pivots."""
    rows = [row + [value] for row, value in zip(matrix, right)]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def fit(points, terms):
    """Coefficients of `terms(tp, cp, tokens)` in ps, and [(tokens, relative error)]."""
    columns = [[term / (us * 1e6) for term in terms(tp, cp, tokens)]
               for tp, cp, tokens, us in points]
    size = len(columns[0])
    matrix = [[sum(c[i] * c[j] for c in columns) for j in range(size)] for i in range(size)]
    found = solve(matrix, [sum(c[i] for c in columns) for i in range(size)])
    errors = [(point[2], sum(a * b for a, b in zip(found, column)) - 1)
              for point, column in zip(points, columns)]
    return found, errors


def say(what, errors, least=0):
    sizes = [abs(error) for tokens, error in errors if tokens >= least]
    print(f"{what}: {len(sizes)} points, {100 * sum(sizes) / len(sizes):.1f} % off on average, "
          f"{100 * max(sizes):.1f} % at most")


def attention_terms(tp, cp, tokens):
    width = h100_data.HEADS * h100_data.HEAD_DIM / tp
    return [1, width * tokens / cp, width * tokens, width * tokens * tokens / (2 * cp)]


def linear_terms(tp, cp, tokens):
    hidden = h100_data.HIDDEN
    flops = 2 * hidden * (2 * hidden + 2 * h100_data.KEY_WIDTH + 2 * h100_data.FFN)
    share = tokens / cp
    return [1, flops * share / tp, 2 * hidden * share * (tp - 1) / tp]


def main():
    (launch, share, keys, square), errors = fit(h100_data.attention(), attention_terms)
    print(f"attention: launch {launch / 1e6:.2f} us, per token {share:.9g} / cp + {keys:.9g}, "
          f"per squared token {square:.9g} / 2 cp ps, times width")
    say("attention", errors)
    say("from 8192 tokens up", errors, 8192)
    (launch, flop, value), errors = fit(h100_data.linear(), linear_terms)
    print(f"linear: launch {launch / 1e6:.1f} us, per FLOP {flop:.9g} ps ({1 / flop:.0f} TFLOP/s), "
          f"per reduced value {value:.9g} ps")
    say("linear", errors)


if __name__ == "__main__":
    main()
