#!/usr/bin/env bash
# The runs of tests/fault one after the other: tests/fault/endurance.sh [--full] [RUN...]
# RUN: kills, replicas, network, namespaces, stuck, crowd, bad_shards; all by default. Without
# --full each is as small as under ctest; with it, about eight minutes. BALLAST_BUILD names the
# build directory, by default build/release. README.md says what each asserts.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 70
python=python3
[ ! -x .venv/bin/python ] || python=.venv/bin/python
full='' runs=() failed=0
for argument in "$@"; do
    case $argument in
    --full) full=--full ;;
    -*)
        echo "usage: tests/fault/endurance.sh [--full] [RUN...]" >&2
        exit 64
        ;;
    *) runs+=("$argument") ;;
    esac
done
[ ${#runs[@]} -gt 0 ] || runs=(kills replicas network namespaces stuck crowd bad_shards)

for run in "${runs[@]}"; do
    "$python" "tests/fault/run_$run.py" $full
    status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || {
        echo "$run: FAILED"
        failed=$((failed + 1))
    }
done
[ $failed -eq 0 ]
