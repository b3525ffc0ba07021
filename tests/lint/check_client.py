#!/usr/bin/env python3
"""The client library says the same everywhere: what ballast.h declares is what libballast.map
exports and what client/man has a page for, with the same prototype; mandoc finds nothing wrong in
the pages."""

import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tree  # noqa: E402

HEADER = pathlib.Path("client/include/ballast/ballast.h")
EXPORTS = pathlib.Path("client/libballast.map")
PAGES = pathlib.Path("client/man")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def words(text):
    """A prototype in one spelling, whatever its blanks."""
    return " ".join(re.findall(r"\w+|[*(),]", text))


def declared(header):
    """{function: prototype} of what the header exports."""
    found = {}
    for prototype in re.findall(r"^BALLAST_API ([^;]*);", without_comments(header), re.MULTILINE):
        name = re.search(r"(\w+)\(", prototype).group(1)
        found[name] = words(prototype)
    return found


def exported(version_map):
    """Names that the map lists as global."""
    globals_of = re.search(r"global:(.*?)local:", without_comments(version_map), re.DOTALL)
    return set(re.findall(r"(\w+);", globals_of.group(1)))


def synopsis(page):
    """{function: prototype} of the .Ft and .Fn, or .Fo to .Fc, of a page."""
    found = {}
    text = re.sub(r"^\.Fc$", "", page, flags=re.MULTILINE)
    for result, name, rest in re.findall(
            r"^\.Ft (.*)\n\.F[no] (\w+)(.*(?:\n\.Fa .*)*)", text, re.MULTILINE):
        arguments = re.findall(r'"([^"]*)"', rest) or rest.split()
        found[name] = words(f"{result} {name}({', '.join(arguments)})")
    return found


def names(page):
    """What the NAME section of a page promises."""
    return set(re.findall(r"^\.Nm (\w+)", page, re.MULTILINE))


def check_exports(functions, version_map):
    listed = exported(version_map)
    problems = [f"{EXPORTS}: {name} is declared in {HEADER}, but not exported"
                for name in sorted(set(functions) - listed)]
    return problems + [f"{EXPORTS}: {name} is exported, but not declared in {HEADER}"
                       for name in sorted(listed - set(functions))]


def check_page(name, prototype, pages):
    """`pages` is {file name: text}."""
    page = pages.get(f"{name}.3")
    if page is None:
        return [f"{PAGES}: {name} has no page {name}.3"]
    redirect = re.fullmatch(r"\.so man3/(\w+\.3)\n", page)
    where = redirect.group(1) if redirect else f"{name}.3"
    page = pages.get(where, "")
    if name not in names(page):
        return [f"{PAGES}/{where}: NAME lacks {name}"]
    written = synopsis(page).get(name)
    if written != prototype:
        return [f"{PAGES}/{where}: found '{written}', the header has '{prototype}'"]
    return []


def check_all(header, version_map, pages):
    functions = declared(header)
    problems = check_exports(functions, version_map)
    for name, prototype in functions.items():
        problems += check_page(name, prototype, pages)
    for file in sorted(pages):
        if file != "ballast.3" and file[:-2] not in functions:
            problems.append(f"{PAGES}/{file}: is about no function of {HEADER}")
    return problems


def check_mandoc(root, files):
    mandoc = shutil.which("mandoc")
    if not mandoc:
        return []
    result = subprocess.run([mandoc, "-T", "lint", "-W", "warning", *files], cwd=root / PAGES,
                            capture_output=True, text=True, check=False)
    return [line for line in result.stdout.splitlines() if line]


def check(root):
    """(problems, number of functions checked)."""
    pages = {path.name: tree.read(root, path.relative_to(root))
             for path in sorted((root / PAGES).glob("*.3"))}
    header, version_map = tree.read(root, HEADER), tree.read(root, EXPORTS)
    problems = check_all(header, version_map, pages)
    whole = [file for file, text in pages.items() if not text.startswith(".so ")]
    return problems + check_mandoc(root, whole), len(declared(header))


if __name__ == "__main__":
    tree.finish("client", *check(tree.root_argument()))
