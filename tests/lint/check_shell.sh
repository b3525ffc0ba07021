#!/bin/sh
# The tool shellcheck finds nothing in any shell script. Skipped where it is missing.
set -eu

cd "${1:-$(dirname "$0")/../..}"
command -v shellcheck >/dev/null || {
    echo "shell: shellcheck is not installed (deploy/install-deps.sh lint)"
    exit 77
}

scripts=$(find . -path ./.git -prune -o -path './build*' -prune -o -path ./.venv -prune -o \
    -type f \( -name '*.sh' -o -path './.ci/*' \) -print)
[ -n "$scripts" ] || {
    echo "shell: no script found: wrong root?"
    exit 1
}
# shellcheck disable=SC2086 # no script has a space in its name
shellcheck --external-sources --source-path=SCRIPTDIR $scripts
echo "shell: $(echo "$scripts" | wc -l) scripts checked"
