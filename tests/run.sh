#!/usr/bin/env bash
# Builds Ballast and runs its tests, from a clean clone on Debian 12 or Ubuntu 24.04.
# The last line is "N passed, N failed" (", N skipped" may follow); the exit status is 0 only if
# none failed.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: tests/run.sh [OPTION...]

  --preset NAME   build and test this preset only: debug, release, asan or tsan
                  (default: everything in debug, kernels and benchmarks in release)
  --build DIR     build there instead of build/NAME; with --preset only
  --exclude RE    leave out tests whose label matches: unit, kernels, integration, fault, lint, ...
  -DNAME=VALUE    give this to CMake, as -DBALLAST_CUDA=OFF; may be repeated
  --quick         what takes seconds only, in debug: leaves out integration, fault, install, bench
  --help          this text

CC chooses the compiler of a new build folder, and the C++ compiler beside it. ccache is used where
it is installed.
TEXT
}

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
passed=0 failed=0 skipped=0 defines=()

heading() {
    printf '\n== %s (at %d s)\n' "$1" "$SECONDS"
}

# .venv with what tests/requirements.txt names; asks the network only if something is missing.
prepare_python() {
    [ -x .venv/bin/python ] || python3 -m venv .venv
    .venv/bin/python -c 'import pytest, xxhash, zmq' 2>/dev/null ||
        .venv/bin/python -m pip install --quiet --requirement tests/requirements.txt
}

# build PRESET DIR
build() {
    heading "build $1 in $2"
    if command -v ccache >/dev/null; then
        export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    fi
    cmake --preset "$1" -B "$2" -DBALLAST_TESTS=ON "${defines[@]}" >"$2.log" 2>&1 || {
        cat "$2.log"
        return 1
    }
    sed -n '/^-- Ballast/,/^-- Configuring/p' "$2.log"
    cmake --build "$2"
}

# First value of an attribute of ctest's report.
attribute() {
    sed -n "s/.*[[:space:]<]$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1
}

# Adds a ctest report to the totals; one that is missing counts as a failure.
count() {
    if [ ! -s "$1" ]; then
        failed=$((failed + 1))
        return
    fi
    local all bad left
    all=$(attribute tests "$1")
    bad=$(attribute failures "$1")
    left=$(($(attribute skipped "$1") + $(attribute disabled "$1")))
    passed=$((passed + all - bad - left))
    failed=$((failed + bad))
    skipped=$((skipped + left))
}

# run_tests DIR CTEST-ARGUMENT...
run_tests() {
    local dir=$1
    shift
    heading "test $dir"
    rm -f "$dir/ctest.xml"
    ctest --test-dir "$dir" --output-on-failure --output-junit ctest.xml "$@" || true
    count "$dir/ctest.xml"
}

# test_preset PRESET DIR EXCLUDED-LABELS
test_preset() {
    mkdir -p "$(dirname "$2")"
    if build "$1" "$2"; then
        run_tests "$2" --parallel 2 --no-tests=error ${3:+--label-exclude "$3"}
    else
        failed=$((failed + 1))
    fi
}

# Benchmarks mean something only in release, and one at a time. Kernels are tested there too, as
# they are shipped; what nvcc makes of them is the same in debug.
test_release() {
    local defines=("${defines[@]}" -DBALLAST_CUDA=OFF)
    if build release build/release; then
        run_tests build/release --parallel 2 --no-tests=ignore --label-regex kernels
        run_tests build/release --parallel 1 --no-tests=ignore --label-regex bench
    else
        failed=$((failed + 1))
    fi
}

preset='' dir='' exclude='' quick=no
while [ $# -gt 0 ]; do
    case $1 in
    --preset | --build | --exclude)
        [ $# -ge 2 ] || {
            echo "tests/run.sh: $1 needs a value" >&2
            exit 64
        }
        case $1 in
        --preset) preset=$2 ;;
        --build) dir=$2 ;;
        --exclude) exclude=$2 ;;
        esac
        shift
        ;;
    --quick) quick=yes ;;
    -D*=*) defines+=("$1") ;;
    --help | -h)
        usage
        exit 0
        ;;
    *)
        echo "tests/run.sh: unknown option '$1', see --help" >&2
        exit 64
        ;;
    esac
    shift
done

# Sanitizers: the first report ends the program, with the stack that a person needs.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
tsan="halt_on_error=1:second_deadlock_stack=1:suppressions='$root/tests/support/tsan.supp'"
export TSAN_OPTIONS=${TSAN_OPTIONS:-$tsan}

heading "prepare"
deploy/install-deps.sh build test
prepare_python

if [ $quick = yes ]; then
    test_preset debug build/debug "integration|fault|install|bench${exclude:+|$exclude}"
elif [ -n "$preset" ]; then
    test_preset "$preset" "${dir:-build/$preset}" "bench${exclude:+|$exclude}"
else
    test_preset debug build/debug "bench${exclude:+|$exclude}"
    test_release
fi

heading "done"
closing="$passed passed, $failed failed"
[ "$skipped" -eq 0 ] || closing="$closing, $skipped skipped"
echo "$closing"
[ "$failed" -eq 0 ]
