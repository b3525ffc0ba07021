#!/usr/bin/env bash
# What only a GPU can show: tests/gpu/run.sh [BUILD]. Needs nvcc, CMake and one GPU, nothing else of
# Ballast's; PyTorch, compute-sanitizer and NCCL are used where they are. Under 8 minutes.
#
# First the wrapper of every instruction, then correctness on inputs that are new each time,
# compute-sanitizer, context parallelism, then speed beside FlashAttention, the profiler, and a
# short table. Exits 77 where there is no GPU, 1 when anything is wrong.
set -uo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/gpu}
limit=470 # seconds for everything
failed=() rows=()

left() {
    echo $((limit - SECONDS > 1 ? limit - SECONDS : 1))
}

# row NAME RESULT: a line of the closing table
row() {
    rows+=("$(printf '%-28s %s' "$1" "$2")")
}

heading() {
    printf '\n== %s (at %d s)\n' "$1" "$SECONDS"
}

# stage NAME COMMAND...: 0 passes, 77 is skipped, all else fails; nothing outlasts the limit. The
# end of what it says is shown, all of it is in BUILD/stage.log until the next.
stage() {
    local name=$1 began=$SECONDS status
    shift
    heading "$name"
    timeout "$(left)" bash -c '"$@"' stage "$@" >"$build/stage.log" 2>&1
    status=$?
    tail -n 40 "$build/stage.log"
    local last
    last=$(tail -n 1 "$build/stage.log" | cut -c 1-60)
    case $status in
    0) row "$name" "ok, $((SECONDS - began)) s: $last" ;;
    77) row "$name" "skipped: $last" ;;
    124) row "$name" "FAILED: no time left" ;;
    *) row "$name" "FAILED ($status): $last" ;;
    esac
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || failed+=("$name")
    return "$status"
}

has_gpu() {
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi -L 2>/dev/null | grep -q '^GPU'
    else
        [ -e /dev/nvidia0 ]
    fi
}

# The kernels alone, so that no library of the daemon's is needed.
compile() {
    local generator=()
    command -v ninja >/dev/null && generator=(-G Ninja)
    cmake "${generator[@]}" -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release \
        -DBALLAST_CLIENT=OFF -DBALLAST_DAEMON=OFF -DBALLAST_TESTS=OFF -DBALLAST_GPU_TESTS=ON \
        -DBALLAST_CUDA=ON || return
    cmake --build "$build" --parallel "$(nproc)"
}

# The report of ptxas for this build: registers, blocks of a multiprocessor, spills.
resources() {
    local logs
    mapfile -t logs <"$build/ptxas-logs"
    python3 "$root/tests/kernels/resources/check_resources.py" "$root/kernels/registers.tsv" \
        "${logs[@]}"
}

# sanitize TOOL PROGRAM...: skipped where the tool cannot look at this device
sanitize() {
    local tool=$1
    shift
    command -v compute-sanitizer >/dev/null || {
        echo "compute-sanitizer is not installed"
        return 77
    }
    compute-sanitizer --tool "$tool" --error-exitcode 99 "$@" >"$build/sanitizer.log" 2>&1
    local status=$?
    if grep -qE 'Device not supported|Unable to find injection|Target application returned' \
        "$build/sanitizer.log" && [ "$status" -ne 99 ]; then
        echo "compute-sanitizer does not work on this machine"
        return 77
    fi
    tail -n 20 "$build/sanitizer.log"
    return "$status"
}

# What the profiler makes of this GPU, in little: the fit, and how far off it is.
profile() {
    "$build/kernels/profile/ballast-profile" --layers 1 --hidden 4096 --heads 32 --kv-heads 8 \
        --ffn 14336 --vocab 128256 --q 16:1024 --kv 128:16384 --cp 1,4 --memory 16 \
        --out "$build/table.csv" --grid "$build/grid.csv"
}

has_gpu || {
    echo "tests/gpu/run.sh: no GPU was found: nothing was run"
    exit 77
}
command -v nvcc >/dev/null || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ] || {
    echo "tests/gpu/run.sh: a GPU, but no nvcc was found: nothing was run"
    exit 77
}

mkdir -p "$build"
rm -f "$build/speed.txt"
export root build
export -f compile resources sanitize profile # each stage is a shell of its own, under timeout
programs=$build/tests/gpu
if stage build compile; then
    stage resources resources
    stage wrappers "$programs/wrappers"
    stage "wrappers, Hopper" "$programs/wrappers_sm90"
    for path in mma wgmma; do
        stage "correctness, $path" "$programs/correctness" --path "$path"
    done
    for tool in memcheck racecheck; do
        stage "sanitizer: $tool" sanitize "$tool" "$programs/correctness" --tiny
    done
    if [ -x "$programs/one_rank" ]; then
        stage "NCCL, one rank" "$programs/one_rank"
    fi
    if stage speed "$programs/speed"; then
        grep -E '^(case|result)' "$build/stage.log" >"$build/speed.tsv"
        stage "FlashAttention" python3 "$root/tests/gpu/flash.py" "$build/speed.tsv"
        cp "$build/stage.log" "$build/speed.txt"
    fi
    stage profiler profile
fi

heading "table"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1
printf '%s\n' "${rows[@]}"
[ ! -f "$build/speed.txt" ] || cat "$build/speed.txt"
if [ "${#failed[@]}" -gt 0 ]; then
    echo "tests/gpu/run.sh: failed: ${failed[*]}"
    exit 1
fi
echo "tests/gpu/run.sh: all passed in $SECONDS s"
