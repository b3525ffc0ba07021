#!/bin/sh
# tests/gpu/run.sh where there is no GPU: one clear line and status 77.
set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s\n' '#!/bin/sh' 'echo "No devices found."' 'exit 6' >"$work/nvidia-smi"
chmod +x "$work/nvidia-smi"

said=$(PATH="$work:$PATH" "$here/run.sh" "$work/build")
status=$?
expected='tests/gpu/run.sh: no GPU was found: nothing was run'
if [ "$status" -ne 77 ] || [ "$said" != "$expected" ]; then
    echo "found status $status and: $said"
    exit 1
fi
[ ! -e "$work/build" ] || {
    echo "run.sh made $work/build before it looked for a GPU"
    exit 1
}
