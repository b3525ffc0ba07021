#!/usr/bin/env python3
"""Every row of every .def table is documented where its readers look.

PLACES says, for each table, in which documents each row must appear, as a pattern made from the
row's arguments. A table that is not listed is an error: say where its rows are documented.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tree  # noqa: E402

PLACES = {
    "proto/wire/status.def": [
        ("proto/PROTOCOL.md", r"\| *{1} *\| *`?{0}`? *\|"),
        ("client/include/ballast/ballast.h", r"\bBALLAST_{0} = {1},"),
    ],
}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
ROW = re.compile(r"^([A-Z_]+)\((.*)\)[ \t]*$", re.MULTILINE)


def rows(text):
    """The arguments of each row, as text without quotes around them."""
    for match in ROW.finditer(COMMENT.sub("", text)):
        yield [argument.strip().strip('"') for argument in match.group(2).split(",")]


def check_table(table, text, documents):
    """Problems of one table; `documents` gives (path, text, pattern) of each place."""
    found = list(rows(text))
    if not found:
        return [f"{table}:1: no rows: expected NAME(argument, ...) on a line of its own"]
    problems = []
    for arguments in found:
        for path, document, pattern in documents:
            wanted = pattern.format(*map(re.escape, arguments))
            if not re.search(wanted, document):
                problems.append(f"{table}: {arguments[0]} is not in {path}: no '{wanted}' there")
    return problems


def check(root):
    """(problems, number of tables checked)."""
    tables = tree.files(root, ".def")
    problems = []
    for table in tables:
        places = PLACES.get(table.as_posix())
        if places is None:
            problems.append(f"{table}:1: not in PLACES of {pathlib.Path(__file__).name}")
            continue
        missing = [path for path, _ in places if not (root / path).is_file()]
        problems += [f"{table}: its document {path} is missing" for path in missing]
        documents = [(path, tree.read(root, path), pattern) for path, pattern in places
                     if path not in missing]
        problems += check_table(table, tree.read(root, table), documents)
    return problems, len(tables)


if __name__ == "__main__":
    tree.finish("tables", *check(tree.root_argument()))
