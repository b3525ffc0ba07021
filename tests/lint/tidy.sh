#!/bin/sh
# clang-tidy over every product source that a build folder compiles: tests/lint/tidy.sh BUILD
# The folder must be one of clang's (CC=clang-14), so that every flag in it is known to clang-tidy.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:?usage: tests/lint/tidy.sh BUILD}
[ -f "$build/compile_commands.json" ] || {
    echo "tidy.sh: no $build/compile_commands.json: configure with a preset first" >&2
    exit 64
}

sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" | sort -u |
    grep -E "^$root/(client|daemon|kernels/(attention|cp|example|profile|tiles)|proto)/.*[.]c$" |
    xargs -P "$(nproc)" -n 4 clang-tidy-14 -quiet -p "$build" 2>"$build/tidy.log" || {
    grep -v ' warnings\{0,1\} generated' "$build/tidy.log" # of system headers, not shown
    exit 1
}
