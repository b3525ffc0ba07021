"""The source tree, for the checks of this folder: its files, and how a check reports and ends."""

import os
import pathlib
import subprocess
import sys

NOT_SOURCES = {".git", ".venv", ".cache", "__pycache__", ".pytest_cache"}


def files(root, *suffixes):
    """Paths relative to `root`, sorted; what git ignores is left out. All files if no suffix."""
    found = _from_git(root)
    if found is None:
        found = _from_disk(root)
    return sorted(p for p in found if not suffixes or p.suffix in suffixes or p.name in suffixes)


def read(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def root_argument():
    """The root of the tree: the first argument, else two folders above this one."""
    if len(sys.argv) > 1:
        return pathlib.Path(sys.argv[1]).resolve()
    return pathlib.Path(__file__).resolve().parents[2]


def finish(name, problems, checked):
    """Prints the problems, one a line, and exits: 1 if there is any."""
    for problem in problems:
        print(problem)
    if not checked:
        problems = ["nothing was checked"]
        print(f"{name}: found nothing to check: wrong root?")
    print(f"{name}: {checked} checked, {len(problems)} wrong")
    sys.exit(1 if problems else 0)


def _from_git(root):
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
               "--exclude-standard"]
    try:
        listing = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return None  # no git here, or an unpacked archive
    paths = {pathlib.Path(name) for name in listing.decode().split("\0") if name}
    return [p for p in paths if (root / p).is_file()]


def _from_disk(root):
    found = []
    for folder, names, leaves in os.walk(root):
        at_root = pathlib.Path(folder) == root
        names[:] = [n for n in names
                    if n not in NOT_SOURCES and not (at_root and n.startswith("build"))]
        found += [pathlib.Path(folder, leaf).relative_to(root) for leaf in leaves]
    return found
