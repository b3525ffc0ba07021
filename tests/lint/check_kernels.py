#!/usr/bin/env python3
"""The kernels say the same everywhere: what their headers declare is what libballast_attention.map
exports, and the options of ballast-profile are in its help and in its manual page."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_client  # noqa: E402
import check_commands  # noqa: E402
import tree  # noqa: E402

HEADERS = pathlib.Path("kernels/include/ballast")
EXPORTS = pathlib.Path("kernels/libballast_attention.map")
OPTIONS = pathlib.Path("kernels/profile/options.c")
PAGE = pathlib.Path("deploy/man/ballast-profile.1")


def declared(header):
    """Functions that a header exports."""
    code = check_client.without_comments(header)
    return set(re.findall(r"^BALLAST_ATTENTION_API [^;]*?(\w+)\(", code, re.MULTILINE))


def check_exports(functions, version_map):
    listed = check_client.exported(version_map)
    problems = [f"{EXPORTS}: {name} is declared in {HEADERS}, but not exported"
                for name in sorted(functions - listed)]
    return problems + [f"{EXPORTS}: {name} is exported, but not declared in {HEADERS}"
                       for name in sorted(listed - functions)]


def options(source):
    """(options that are read, options that the help explains)"""
    read = set(re.findall(r'^    \{ "([\w-]+)", (?:required|no)_argument', source, re.MULTILINE))
    text = "".join(re.findall(r'^    "(.*)\\n"', source, re.MULTILINE))
    return read, set(re.findall(r"--([\w-]+)", text))


def check_options(source, page):
    read, helped = options(source)
    items = {name for name, _ in check_commands.options_listed(re.sub(r" : Ns Ar B", "", page))}
    problems = [] if read else [f"{OPTIONS}: no options found"]
    for where, known in (("its help", helped), (PAGE, items)):
        problems += [f"{OPTIONS}: --{name} is not in {where}" for name in sorted(read - known)]
        problems += [f"{where}: --{name} is no option of {OPTIONS}"
                     for name in sorted(known - read)]
    return problems


def check(root):
    """(problems, number of functions and options checked)."""
    headers = sorted((root / HEADERS).glob("*.h"))
    functions = set()
    for path in headers:
        functions |= declared(tree.read(root, path.relative_to(root)))
    source = tree.read(root, OPTIONS)
    problems = check_exports(functions, tree.read(root, EXPORTS))
    problems += check_options(source, tree.read(root, PAGE))
    problems += check_commands.check_markup(root, [PAGE])
    return problems, len(functions) + len(options(source)[0])


if __name__ == "__main__":
    tree.finish("kernels", *check(tree.root_argument()))
