#!/usr/bin/env python3
"""The manual pages and what they are about are the same: every command and option of
daemon/ctl/commands.def is in ballastctl(1) and nothing else is, every configuration key of
daemon/config/keys.c is in ballastd(8), and mandoc finds nothing wrong in either."""

import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tree  # noqa: E402

TABLE = pathlib.Path("daemon/ctl/commands.def")
KEYS = pathlib.Path("daemon/config/keys.c")
CTL_PAGE = pathlib.Path("deploy/man/ballastctl.1")
DAEMON_PAGE = pathlib.Path("deploy/man/ballastd.8")


def commands(table):
    """{command: (group, {(option, argument or None)})}"""
    options = {identity: (name, argument) for identity, name, argument in re.findall(
        r'^OPTION\((\w+),\s*"([\w-]+)",\s*\w+,\s*(?:"([^"]*)"|NULL)\)', table, re.MULTILINE)}
    found = {name: (group, set()) for name, group in re.findall(
        r"^COMMAND\((\w+), (\w+),", table, re.MULTILINE)}
    for command, option in re.findall(r"^(?:NEEDS|TAKES)\((\w+), (\w+),", table, re.MULTILINE):
        name, argument = options[option]
        found[command][1].add((name, argument.replace("=", " Ns = Ns Ar ") or None))
    return found


def sections(page):
    """{title: text} of the .Sh and .Ss of a page."""
    parts = re.split(r"^\.S[hs] (.*)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def options_listed(text):
    """{(option, argument or None)} of the .It Fl lines."""
    return {(name, argument or None) for name, argument in re.findall(
        r"^\.It Fl -([\w-]+)(?: Ar (.*))?$", text, re.MULTILINE)}


def described(page):
    """{command: (text of its item, text of its section)}"""
    found = {}
    for text in sections(page).values():
        items = re.split(r"^\.It Cm (.*)$", text, flags=re.MULTILINE)
        for name, item in zip(items[1::2], items[2::2]):
            found[name.split()[0]] = (item, text)
    return found


def synopses(page):
    """{command: {option}}"""
    found = {}
    for block in re.split(r"^\.Nm$", sections(page)["SYNOPSIS"], flags=re.MULTILINE):
        match = re.search(r"^\.Cm (.*)$", block, re.MULTILINE)
        for name in match.group(1).split(" | ") if match else []:
            found[name.split()[0]] = set(re.findall(r"Fl -([\w-]+)", block))
    return found


def command_problems(name, group, options, documented, synopsis):
    item, section = documented
    listed = options_listed(section if group == "DAEMON" else item)
    for option, argument in sorted(options - listed, key=str):
        yield f"{CTL_PAGE}: {name}: no '.It Fl -{option}{' Ar ' + argument if argument else ''}'"
    if group != "DAEMON":
        for option, _ in sorted(listed - options, key=str):
            yield f"{CTL_PAGE}: {name}: --{option} is not in {TABLE}"
    wanted = {option for option, _ in options} - {"help"}
    if wanted != synopsis:
        yield f"{CTL_PAGE}: SYNOPSIS of {name}: {sorted(wanted ^ synopsis)} on one side only"


def check_ctl(table, page):
    """Problems of ballastctl(1)."""
    listed, documented, synopsis = commands(table), described(page), synopses(page)
    problems = [f"{TABLE}: no commands found"] if not listed else []
    for name, (group, options) in listed.items():
        if name not in documented or name not in synopsis:
            problems.append(f"{CTL_PAGE}: the command {name} is not described, or not in SYNOPSIS")
        else:
            problems += command_problems(name, group, options, documented[name], synopsis[name])
    problems += [f"{CTL_PAGE}: {name} is no command of {TABLE}"
                 for name in sorted((set(documented) | set(synopsis)) - set(listed))]
    return problems


def check_keys(source, page):
    """Problems of the configuration in ballastd(8): keys with a value must be named in full."""
    keys = re.findall(r'\.path = "([^"]+)"', source)
    parents = {key.rsplit(".", 1)[0] for key in keys if "." in key}
    wanted = [key for key in keys if not key.endswith("[]") and key not in parents]
    words = set(re.sub(r"[,\n]", " ", page).split())
    problems = [f"{DAEMON_PAGE}: the key {key} is missing" for key in wanted if key not in words]
    named = {word for word in words if re.fullmatch(r"[a-z_]+(\[\])?\.[a-z_.]+", word)}
    unknown = sorted(word for word in named if word.split(".")[0].rstrip("[]") in
                     {parent.split(".")[0].rstrip("[]") for parent in parents}
                     and word not in keys)
    return problems + [f"{DAEMON_PAGE}: {word} is no key of {KEYS}" for word in unknown]


def check_markup(root, paths):
    """What mandoc complains of, where it is installed."""
    if not shutil.which("mandoc"):
        return []
    command = ["mandoc", "-T", "lint", "-W", "warning", *map(str, paths)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def check(root):
    """(problems, number of pages checked)."""
    problems = check_ctl(tree.read(root, TABLE), tree.read(root, CTL_PAGE))
    problems += check_keys(tree.read(root, KEYS), tree.read(root, DAEMON_PAGE))
    problems += check_markup(root, [CTL_PAGE, DAEMON_PAGE])
    return problems, 2


if __name__ == "__main__":
    tree.finish("commands", *check(tree.root_argument()))
