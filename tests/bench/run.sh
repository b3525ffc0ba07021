#!/usr/bin/env bash
# Measures Ballast against the targets of its design and prints target | figure | verdict.
# Run it on a quiet machine, on an optimised build. Exit status 1 when a target was missed.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: tests/bench/run.sh [OPTION...] [BENCHMARK...]

  --build DIR   where ballastd, ballastctl and the benchmarks are built (default: build/release,
                configured and built first if need be)
  --quick       tiny sizes: shows that everything works, measures nothing
  --details     more rows, where a benchmark has them
  --help        this text

Benchmarks: packing adaptive planning cp_sharding solver stream memory (default: these);
pareto and paper take minutes.
README.md says what each figure is.
TEXT
}

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build='' flags=()
while [ $# -gt 0 ]; do
    case $1 in
    --build)
        build=${2:?--build needs a folder}
        shift
        ;;
    --quick | --details) flags+=("$1") ;;
    --help | -h)
        usage
        exit 0
        ;;
    -*)
        usage >&2
        exit 64
        ;;
    *) break ;;
    esac
    shift
done

if [ -z "$build" ]; then
    build=$root/build/release
    cmake -S "$root" --preset release -B "$build" -DBALLAST_TESTS=ON >/dev/null
    cmake --build "$build" --target \
        ballastd ballastctl bench_balance bench_planning bench_cp_sharding bench_stream
fi
python=python3
if [ -x "$root/.venv/bin/python" ]; then
    python=$root/.venv/bin/python
fi

[ $# -gt 0 ] || set -- packing adaptive planning cp_sharding solver stream memory
printf '%s, %s cores, load %s\n' "$(uname -srm)" "$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)"
missed=0
for name; do
    BALLAST_BUILD=$build "$python" "$here/$name.py" ${flags[@]+"${flags[@]}"} || missed=1
done
exit "$missed"
