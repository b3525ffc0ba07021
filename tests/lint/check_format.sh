#!/bin/sh
# Every source in C, C++ and CUDA is as clang-format 14 with .clang-format leaves it. Skipped where
# that is missing.
set -eu

cd "${1:-$(dirname "$0")/../..}"
formatter=$(command -v clang-format-14 || true)
[ -n "$formatter" ] || {
    echo "format: clang-format-14 is not installed (deploy/install-deps.sh lint)"
    exit 77
}

list=$(mktemp)
trap 'rm -f "$list"' EXIT
git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' >"$list" \
    2>/dev/null ||
    find client daemon kernels proto tests -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' \
        -o -name '*.cuh' >"$list"
# A file that another hand has just removed is still listed.
while read -r file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done <"$list" |
    xargs -0 "$formatter" --dry-run -Werror
echo "format: $(wc -l <"$list") files checked"
