#!/usr/bin/env python3
"""Lengths of files and lines: no line over 100 columns, no file over 800 lines; those over 500
are named for the reader of the report to ask whether each is still one concept."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tree  # noqa: E402

MOST_COLUMNS = 100
MOST_LINES = 800
MANY_LINES = 500
SOURCES = (".c", ".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".cmake", ".def", ".proto",
           "CMakeLists.txt")


def check_text(path, text):
    lines = text.splitlines()
    problems = [f"{path}:{number}: {len(line)} columns: at most {MOST_COLUMNS}"
                for number, line in enumerate(lines, 1) if len(line) > MOST_COLUMNS]
    if len(lines) > MOST_LINES:
        problems.append(f"{path}:{len(lines)}: {len(lines)} lines: at most {MOST_LINES}")
    if text and not text.endswith("\n"):
        problems.append(f"{path}:{len(lines)}: the last line has no end")
    problems += [f"{path}:{number}: blanks at the end of the line"
                 for number, line in enumerate(lines, 1) if line != line.rstrip()]
    return problems


def report(root, paths):
    counts = sorted(((len(tree.read(root, p).splitlines()), p) for p in paths), reverse=True)
    total = sum(count for count, _ in counts)
    print(f"size: {len(counts)} files, {total} lines, median {counts[len(counts) // 2][0]}")
    for count, path in counts:
        if count > MANY_LINES:
            print(f"size: {path} has {count} lines: is it still one concept?")


def check(root):
    """(problems, number of files checked)."""
    paths = tree.files(root, *SOURCES)
    if paths:
        report(root, paths)
    problems = []
    for path in paths:
        problems += check_text(path, tree.read(root, path))
    return problems, len(paths)


if __name__ == "__main__":
    tree.finish("size", *check(tree.root_argument()))
