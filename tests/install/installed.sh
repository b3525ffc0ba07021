# shellcheck shell=sh disable=SC2154
# How the tests of this folder look at an installation: sourced by them. They set `package`, the
# name that pkg-config knows, and `library`, the file's name without lib and .so.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# quietly WHAT COMMAND...: shows what a command says only if it fails
quietly() {
    what=$1
    shift
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log"
        fail "$what failed"
    }
}

# needs PROGRAM: does it load the library?
needs() {
    readelf -d "$1" | grep -q "NEEDED.*lib$library\.so\.0"
}

# expect_run PROGRAM [LIBRARY-PATH]: it prints the version
expect_run() {
    version=$(LD_LIBRARY_PATH="${2:-}${RUN_PATH:+:$RUN_PATH}" "$1") || fail "$1 failed"
    [ "$version" = "$(pkg-config --modversion "$package")" ] ||
        fail "$1 printed '$version', pkg-config says $(pkg-config --modversion "$package")"
    echo "$(basename "$1"): $version"
}

# use PREFIX: lets pkg-config find the library there and nowhere else; sets libdir
use() {
    pc=$(find "$1" -name "$package.pc")
    [ -n "$pc" ] || fail "no $package.pc under $1"
    PKG_CONFIG_PATH=$(dirname "$pc")
    export PKG_CONFIG_PATH
    libdir=$(pkg-config --variable=libdir "$package")
    [ "$(realpath "$libdir")" = "$(realpath "$(dirname "$pc")/..")" ] ||
        fail "$package.pc names $libdir, but lies in $(dirname "$pc")"
}

# expect_exports PATTERN: the library exports nothing else
expect_exports() {
    exports=$(nm -D --defined-only "$libdir/lib$library.so" | awk '$2 != "A" { print $3 }' |
        grep -v "$1" || true)
    [ -z "$exports" ] || [ -n "${CFLAGS:-}" ] ||
        fail "lib$library.so exports more than its own: $exports"
}
