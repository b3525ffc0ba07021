#!/usr/bin/env python3
"""Every row of every .def table is documented where its readers look.

PLACES says, for each table and kind of row, which document must mention each row, and how: a
pattern made from the row's arguments. A table that is not listed is an error.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tree  # noqa: E402

# table -> [(kind of row, document, pattern)]; {0} is the row's first argument.
PLACES = {
    "proto/wire/status.def": [
        ("STATUS", "PROTOCOL.md", r"\| *{1} *\| *`?{0}`? *\|"),
        ("STATUS", "ballast.h", r"\bBALLAST_{0} = {1},"),
    ],
    "tests/kernels/nccl_stand_in/numbers.def": [],  # held against nccl.h by its own test
    "daemon/ctl/commands.def": [],  # check_commands.py reads the manual page both ways
}
IGNORED = re.compile(r"/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^([A-Z_]+)\(", re.MULTILINE)
TOKEN = re.compile(r'"((?:\\.|[^"\\])*)"|([(),])|([^\s"(),]+)')


def rows(text):
    """(kind, arguments) of each row; neighbouring strings are joined, quotes left out."""
    text = IGNORED.sub("", text)
    for match in ROW.finditer(text):
        arguments, depth = [""], 1
        for string, mark, word in TOKEN.findall(text[match.end():]):
            depth += {"(": 1, ")": -1}.get(mark, 0)
            if depth == 0:
                break
            if mark == "," and depth == 1:
                arguments.append("")
            else:
                arguments[-1] += string + mark + word
        yield match.group(1), arguments


def plain(document):
    """A document without the escapes of a man page."""
    return document.replace("\\-", "-")


def check_table(table, text, places):
    """Problems of one table; `places` gives (kind, name of the document, its text, pattern)."""
    found = list(rows(text))
    problems = []
    for kind, name, document, pattern in places:
        of_kind = [arguments for row_kind, arguments in found if row_kind == kind]
        if not of_kind:
            problems.append(f"{table}:1: no row of kind {kind}")
        for arguments in of_kind:
            wanted = pattern.format(*map(re.escape, arguments))
            if not re.search(wanted, plain(document)):
                problems.append(f"{table}: {kind} {arguments[0]} is not in {name}: no '{wanted}'")
    return problems


def check(root):
    """(problems, number of tables checked)."""
    tables = tree.files(root, ".def")
    documents = {path.name: path for path in tree.files(root)}
    problems = []
    for table in tables:
        if table.as_posix() not in PLACES:
            problems.append(f"{table}:1: not in PLACES of {pathlib.Path(__file__).name}")
            continue
        places = PLACES[table.as_posix()]
        problems += [f"{table}: its document {name} is missing"
                     for name in sorted({name for _, name, _ in places} - set(documents))]
        problems += check_table(table, tree.read(root, table), [
            (kind, name, tree.read(root, documents[name]), pattern)
            for kind, name, pattern in places if name in documents])
    return problems, len(tables)


if __name__ == "__main__":
    tree.finish("tables", *check(tree.root_argument()))
