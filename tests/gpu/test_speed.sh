#!/bin/sh
# The table of speeds, from the emulation: it has every case and pass, whatever the figures are.
# usage: test_speed.sh SPEED PYTHON
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$1" --tiny >"$work/speed.tsv"
"$2" "$here/flash.py" "$work/speed.tsv" >"$work/table"
cat "$work/table"
for case in 'tiny' 'tiny CP 2'; do
    for pass in forward backward; do
        grep -Eq "^$case +$pass +[0-9]" "$work/table" || {
            echo "test_speed.sh: no figure for $case, $pass"
            exit 1
        }
    done
done
[ "$(printf 'case\tx\t1\t1\t64\t3:5,2:2\nresult\tx\tmma\tforward\t1\t2\n' >"$work/two" &&
    "$2" -c "import sys; sys.path.insert(0, '$here'); sys.dont_write_bytecode = True
import flash
cases, results = flash.read('$work/two')
print(flash.pairs_of(cases['x'][3]), results['x', 'mma', 'forward'])")" = "15 2.0" ] || {
    echo "test_speed.sh: flash.py counts other pairs"
    exit 1
}
