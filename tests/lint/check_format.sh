#!/bin/sh
# Every C source is as clang-format 14 with .clang-format leaves it. Skipped where it is missing.
set -eu

cd "${1:-$(dirname "$0")/../..}"
formatter=$(command -v clang-format-14 || true)
[ -n "$formatter" ] || {
    echo "format: clang-format-14 is not installed (deploy/install-deps.sh lint)"
    exit 77
}

list=$(mktemp)
trap 'rm -f "$list"' EXIT
git ls-files --cached --others --exclude-standard '*.c' '*.h' >"$list" 2>/dev/null ||
    find client daemon proto tests -name '*.[ch]' >"$list"
# A file that another hand has just removed is still listed.
while read -r file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done <"$list" |
    xargs -0 "$formatter" --dry-run -Werror
echo "format: $(wc -l <"$list") files checked"
