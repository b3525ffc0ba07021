#!/usr/bin/env python3
"""Words, functions and paths that must not be in the tree, each with its reason."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tree  # noqa: E402

C = r"\.(c|h|cpp|cu|cuh)"
SHIPPED = r"(daemon|client/src|client/include|kernels|proto)/.*" + C
C_FILES = r".*" + C
C_SUFFIXES = (".c", ".h", ".cpp", ".cu", ".cuh")
ANY = r".*"

# (files, pattern, why). Brackets keep a pattern from matching itself.
RULES = [
    (ANY, r"\b(TO[D]O|FIX[M]E|XX[X])\b", "unfinished: finish it, or file an issue"),
    (ANY, r"(?<![\w.])/(wor[k]|hom[e]|roo[t])/\w", "a path of one machine"),
    (ANY, r"https?://(de[b]|registr[y]|file[s]|securit[y])\.", "a package host of one machine"),
    (ANY, r"<{7} |>{7} |^={7}$", "a merge left undone"),
    (SHIPPED, r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|alloca)\s*\(",
     "no bound or no error: use snprintf, memcpy, strtoull, malloc"),
    (SHIPPED, r"\b(rand|random|srand|drand48|localtime|gmtime|asctime|ctime)\s*\(",
     "hidden global state, or not the same everywhere"),
    (r"(daemon/(base|corpus|stream|cost|pack|cp|config|plan|simulate|serve)|client/src|proto|"
     r"kernels/(tiles|ref|common|attention|cp))/.*\.(c|cpp|cu)",
     r"(?<![\w.>])(printf|puts|putchar|perror|exit|abort)\s*\(",
     "a library does not print or end the process: fill struct error"),
    (SHIPPED, r"(?<![\w.>])(u?sleep|nanosleep)\s*\(", "wait for an event, with a deadline"),
    (r"tests/(?!bench/).*" + C, r"(?<![\w.>])(u?sleep|nanosleep)\s*\(",
     "a test that sleeps is slow or flaky: wait for the event, with a deadline"),
    (r"(daemon|client/src|kernels|proto)/.*\.(c|cpp|cu)", r"(?<!_)\bassert\s*\(",
     "input is refused with an error, never asserted"),
    (C_FILES, r"^\s*#\s*pragma\s+GCC\s+diagnostic\s+ignored", "mend the warning instead"),
]
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
NOT_TEXT = {".png", ".idx", ".bin", ".gz"}


def code_of(text):
    """C text without comments and strings, the lines kept."""
    return COMMENT.sub(lambda m: "\n" * m.group().count("\n") or '""', text)


def rules_of(path):
    return [(re.compile(pattern, re.MULTILINE), files, why) for files, pattern, why in RULES
            if re.fullmatch(files, path.as_posix())]


def check_text(path, text):
    problems = []
    for pattern, files, why in rules_of(path):
        subject = text if files == ANY or path.suffix not in C_SUFFIXES else code_of(text)
        for match in pattern.finditer(subject):
            line = subject.count("\n", 0, match.start()) + 1
            problems.append(f"{path}:{line}: '{match.group().strip()}': {why}")
    return problems


def check(root):
    """(problems, number of files checked)."""
    paths = [p for p in tree.files(root) if p.suffix not in NOT_TEXT and p.parts[0] != "LICENSE"]
    problems = []
    for path in paths:
        problems += check_text(path, tree.read(root, path))
    return problems, len(paths)


if __name__ == "__main__":
    tree.finish("forbidden", *check(tree.root_argument()))
