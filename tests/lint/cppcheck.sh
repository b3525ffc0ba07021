#!/bin/sh
# cppcheck over every product source that a build folder compiles: tests/lint/cppcheck.sh BUILD
# A wrong finding is suppressed at its line: /* cppcheck-suppress id ; why */
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:?usage: tests/lint/cppcheck.sh BUILD}
[ -f "$build/compile_commands.json" ] || {
    echo "cppcheck.sh: no $build/compile_commands.json: configure with a preset first" >&2
    exit 64
}
build=$(cd "$build" && pwd) # cppcheck's filters want absolute names throughout
mkdir -p "$build/cppcheck"
cppcheck --project="$build/compile_commands.json" --cppcheck-build-dir="$build/cppcheck" \
    --file-filter="$root/client/*" --file-filter="$root/daemon/*" \
    --file-filter="$root/kernels/*.c" --file-filter="$root/proto/*" \
    --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
    --suppress=missingIncludeSystem '--suppress=preprocessorErrorDirective:*.pb-c.h' \
    -j "$(nproc)" --quiet
