#!/usr/bin/env python3
"""What ptxas says of every kernel, against kernels/registers.tsv: check_resources.py TABLE LOG...

A log is what nvcc -Xptxas=-v printed. Wrong are: a spill, wgmma that the compiler serialised
(C7518), a kernel over its budget, without a row, with two rows, and a row without a kernel. Prints
a table of what there is.
"""

import collections
import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SERIALISED = re.compile(r"C7518|wgmma[^\n]*serializ|Potential Performance Loss")
REGISTERS_OF_MULTIPROCESSOR = 65536

Kernel = collections.namedtuple("Kernel", "name arch registers stack spill log")
Budget = collections.namedtuple("Budget", "pattern arch registers threads line")


def demangle(names):
    """{mangled: readable} by c++filt; the mangled names themselves where there is none."""
    try:
        done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                              check=True)
    except (OSError, subprocess.CalledProcessError):
        return {name: name for name in names}
    return dict(zip(names, done.stdout.splitlines()))


def plain(name):
    """A demangled name without its result, namespaces in brackets and parameters."""
    name = name.replace("(anonymous namespace)::", "")
    name = re.sub(r"^void ", "", name)
    depth = 0
    for index, char in enumerate(name):
        depth += {"<": 1, ">": -1}.get(char, 0)
        if char == "(" and depth == 0:
            return name[:index]
    return name


def kernels_of(log, text):
    """Kernels of one log, names still mangled."""
    found = []
    entry, stack, spill = None, 0, 0
    for line in text.splitlines():
        if match := ENTRY.search(line):
            entry, stack, spill = match.groups(), 0, 0
        elif match := SPILL.search(line):  # more than once where a function was not inlined
            stack += int(match.group(1))
            spill += int(match.group(2)) + int(match.group(3))
        elif (match := USED.search(line)) and entry:
            found.append(Kernel(*entry, int(match.group(1)), stack, spill, log))
            entry = None
    return found


def budgets_of(text):
    """(rows of the table, problems)"""
    rows, problems = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 4 or not fields[2].isdigit() or not fields[3].isdigit():
            problems.append(f"registers.tsv:{number}: expected four fields between tabs, the last "
                            "two of them numbers")
            continue
        rows.append(Budget(re.compile(fields[0]), fields[1], int(fields[2]), int(fields[3]),
                           number))
    return rows, problems


def rows_of(kernel, name, rows):
    return [row for row in rows if row.arch in ("*", kernel.arch) and row.pattern.match(name)]


def kernel_problems(kernel, name, matching):
    problems = []
    row = matching[0] if len(matching) == 1 else None
    if not row:
        lines = ", ".join(str(row.line) for row in matching) or "none"
        problems.append(f"{name} for {kernel.arch}: expected one row of registers.tsv, found "
                        f"lines: {lines}")
    if kernel.spill:
        problems.append(f"{name} for {kernel.arch}: spills {kernel.spill} bytes ({kernel.log})")
    if row and kernel.registers > row.registers:
        problems.append(f"{name} for {kernel.arch}: {kernel.registers} registers, over the "
                        f"{row.registers} of line {row.line}")
    return problems


def log_problems(log, text):
    return [f"{log}: {line.strip()}" for line in text.splitlines() if SERIALISED.search(line)]


def check(table, logs):
    """(problems, [(name, kernel, row)]) of the table's text and of {log: text}."""
    rows, problems = budgets_of(table)
    kernels = []
    for log, text in sorted(logs.items()):
        kernels += kernels_of(log, text)
        problems += log_problems(log, text)
    if not kernels:
        problems.append("no kernel found in any log")
    names = demangle(sorted({kernel.name for kernel in kernels}))
    listing, used = [], set()
    for kernel in kernels:
        name = plain(names[kernel.name])
        matching = rows_of(kernel, name, rows)
        problems += kernel_problems(kernel, name, matching)
        used.update(matching)
        listing.append((name, kernel, matching[0] if matching else None))
    problems += [f"registers.tsv:{row.line}: no kernel matches" for row in rows if row not in used]
    return problems, listing


def show(listing):
    print(f"{'arch':7} {'regs':>4} {'limit':>5} {'blocks':>6} {'stack':>5} {'spill':>5}  kernel")
    for name, kernel, row in sorted(listing, key=lambda item: (item[0], item[1].arch)):
        limit = row.registers if row else "-"
        fits = REGISTERS_OF_MULTIPROCESSOR // (row.threads * kernel.registers) if row else "-"
        print(f"{kernel.arch:7} {kernel.registers:4} {limit:>5} {fits:>6} {kernel.stack:5} "
              f"{kernel.spill:5}  {name}")


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: check_resources.py TABLE LOG...")
    logs = {path: pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
            for path in sys.argv[2:]}
    problems, listing = check(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), logs)
    show(listing)
    for problem in problems:
        print(problem)
    print(f"resources: {len(listing)} kernels, {len(problems)} wrong")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
