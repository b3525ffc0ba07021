#!/usr/bin/env python3
"""The dependency law of ARCHITECTURE.md: who may include whom, read from the #include lines.

A unit is a folder of daemon/ or kernels/, daemon/main.c, or a whole top-level folder. LAW lists,
for each unit, the units whose headers it may include; LIBRARIES lists the units that may include
the headers of a library. Whatever is not listed is forbidden. The edges found must not form a
cycle.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tree  # noqa: E402

PURE = ["corpus", "stream", "cost", "pack", "cp", "config", "plan", "simulate"]

LAW = {
    "proto": [],
    "kernels/include": [],
    "kernels/tiles": [],
    "kernels/ref": ["kernels/include", "kernels/tiles"],
    "kernels/half": [],
    "kernels/emulation": ["kernels/half"],
    "kernels/common": ["kernels/half", "kernels/emulation"],
    "kernels/attention": ["kernels/include", "kernels/tiles", "kernels/common"],
    "kernels/cp": ["kernels/include", "kernels/tiles", "kernels/common", "kernels/attention"],
    "kernels/example": ["kernels/include", "kernels/half", "kernels/common", "client/include"],
    "kernels/profile": ["kernels/include", "kernels/common", "kernels/emulation"],
    "client": ["proto", "client/include"],
    "client/examples": ["client/include"],
    "client/include": [],
    "base": [],
    "corpus": ["base"],
    "stream": ["base", "corpus"],
    "cost": ["base", "kernels/tiles"],
    "pack": ["base", "cost"],
    "cp": ["base", "cost", "kernels/tiles"],
    "config": ["base", "corpus", "stream", "cost", "pack", "cp"],
    "plan": ["base", "corpus", "stream", "cost", "pack", "cp", "config"],
    "simulate": ["base", "corpus", "stream", "cost", "pack", "cp", "config", "plan"],
    "state": ["base", "config", "plan"],
    "observe": ["base", "corpus", "stream", "cost", "pack", "cp", "config", "plan"],
    "serve": ["base", "corpus", "stream", "cost", "pack", "cp", "config", "plan", "state",
              "observe", "proto"],
    "ctl": ["base", "corpus", "stream", "cost", "pack", "cp", "config", "plan", "simulate",
            "state", "proto", "client/include"],
    "main": ["base", "corpus", "stream", "cost", "pack", "cp", "config", "plan", "observe",
             "serve", "state", "proto"],
}

# What each header belongs to, and the units that may include it.
LIBRARIES = [
    ("libuv", r"uv\.h|uv/.*", ["serve", "observe", "main"]),
    ("libzmq", r"zmq.*\.h", ["serve", "observe", "main", "ctl", "client"]),
    ("protobuf-c", r"protobuf-c/.*|ballast/v1/.*\.pb-c\.h",
     ["proto", "client", "serve", "ctl"]),
    ("libsystemd", r"systemd/.*", ["serve", "observe", "main"]),
    ("libcyaml", r"cyaml/.*|yaml\.h", ["config"]),
    ("sockets", r"sys/(socket|epoll|eventfd)\.h|netinet/.*|arpa/.*|netdb\.h|poll\.h",
     ["client", "serve", "observe", "main", "ctl"]),
    ("clocks", r"time\.h|sys/time\.h|sys/times\.h|chrono",
     ["client", "client/examples", "serve", "observe", "main", "ctl", "simulate", "kernels/cp",
      "kernels/emulation"]),
    ("threads", r"pthread\.h|threads\.h|semaphore\.h|thread|mutex|condition_variable",
     ["serve", "observe", "main", "ctl", "client/examples", "kernels/emulation", "kernels/cp",
      "kernels/example"]),
    ("CUDA", r"cuda.*\.h", ["kernels/common", "kernels/emulation", "kernels/attention",
                            "kernels/cp", "kernels/example", "kernels/profile"]),
    ("cuBLAS", r"cublas.*\.h", ["kernels/profile"]),
    ("NCCL", r"nccl.*\.h", ["kernels/cp"]),
]

SOURCES = (".c", ".h", ".cpp", ".cu", ".cuh")
CHECKED_FOLDERS = {"proto", "client", "daemon", "kernels"}
INCLUDE_ROOTS = ["daemon", "proto", "client/include", "client/src", "kernels/include", "."]
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def unit_of(path):
    """The unit that a file belongs to, or None outside the law."""
    parts = path.parts
    if parts[0] not in CHECKED_FOLDERS:
        return None
    if parts[0] == "daemon":
        return parts[1] if len(parts) > 2 else path.stem
    if parts[0] == "kernels" or parts[:2] in (("client", "examples"), ("client", "include")):
        return f"{parts[0]}/{parts[1]}"
    return parts[0]


def includes(text):
    """(line, name, quoted) of every #include outside comments."""
    code = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), text)
    for match in INCLUDE.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, match.group(2), match.group(1) == '"'


def resolve(root, path, name, quoted):
    """The file of the tree that the name stands for, or None if it is a library's."""
    places = ([path.parent] if quoted else []) + [pathlib.Path(r) for r in INCLUDE_ROOTS]
    for place in places:
        if (root / place / name).is_file():
            return pathlib.Path((root / place / name).resolve().relative_to(root))
    return None


def library_problem(unit, name):
    for library, pattern, allowed in LIBRARIES:
        if re.fullmatch(pattern, name) and unit not in allowed:
            return f"{unit} must not use {library} (<{name}>): only {', '.join(allowed)} may"
    return None


def edge_problem(unit, other):
    if other == unit or other in LAW[unit]:
        return None
    allowed = ", ".join(LAW[unit]) or "nothing"
    return f"{unit} must not include {other}: it may include {allowed}"


def check_file(root, path, edges):
    unit = unit_of(path)
    if unit not in LAW:
        return [f"{path}:1: unit '{unit}' is not in the law: add it to LAW in {__file__}"]
    problems = []
    for line, name, quoted in includes(tree.read(root, path)):
        target = resolve(root, path, name, quoted)
        other = unit_of(target) if target else None
        if target and not other:
            problem = f"{unit} must not include {target}: it is outside the product"
        elif other:
            edges.setdefault((unit, other), f"{path}:{line}")
            problem = edge_problem(unit, other)
        else:
            problem = library_problem(unit, name)
        if problem:
            problems.append(f"{path}:{line}: {problem}")
    return problems


def find_cycle(edges):
    """Units that include each other in a ring, first one repeated at the end, or []."""
    graph = {}
    for unit, other in sorted(edges):
        if unit != other:
            graph.setdefault(unit, []).append(other)
    done = set()

    def visit(unit, trail):
        if unit in trail:
            return trail[trail.index(unit):] + [unit]
        if unit in done:
            return []
        for other in graph.get(unit, []):
            ring = visit(other, trail + [unit])
            if ring:
                return ring
        done.add(unit)
        return []

    for unit in sorted(graph):
        ring = visit(unit, [])
        if ring:
            return ring
    return []


def check(root):
    """(problems, number of files checked)."""
    paths = [p for p in tree.files(root, *SOURCES) if unit_of(p)]
    edges, problems = {}, []
    for path in paths:
        problems += check_file(root, path, edges)
    ring = find_cycle(edges)
    if ring:
        problems.append("cycle: " + " -> ".join(
            f"{unit} ({edges[unit, other]})" for unit, other in zip(ring, ring[1:])))
    return problems, len(paths)


if __name__ == "__main__":
    tree.finish("dependency law", *check(tree.root_argument()))
