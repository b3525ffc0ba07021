#!/usr/bin/env bash
# Every target of balance, delay, packing time, planning rate and CP ranks: target, figure, verdict.
# With --pareto, `adaptive` against `wlb` swept over its thresholds instead (about ten minutes of
# one core; --details prints every point). Other options are those of run.sh.
set -euo pipefail
benchmarks=(packing adaptive planning cp_sharding) options=()
for option; do
    if [ "$option" = --pareto ]; then
        benchmarks=(pareto)
    else
        options+=("$option")
    fi
done
exec "$(cd "$(dirname "$0")" && pwd)/run.sh" ${options[@]+"${options[@]}"} "${benchmarks[@]}"
