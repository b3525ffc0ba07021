#!/bin/sh
# Installs the client library of a build into a folder of its own and builds a program against it:
# with pkg-config, shared and static, and with the CMake package. usage: test_client.sh BUILD
set -eu

build=$1
here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
cmake=${CMAKE:-cmake}
flags="-std=c17 -Wall -Wextra -Wpedantic -Werror ${CFLAGS:-}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "test_client.sh: $*" >&2
    exit 1
}

# needs PROGRAM: does it load libballast?
needs() {
    readelf -d "$1" | grep -q 'NEEDED.*libballast\.so\.0'
}

# expect_run PROGRAM [LIBRARY-PATH]
expect_run() {
    version=$(LD_LIBRARY_PATH=${2:-} "$1") || fail "$1 failed"
    [ "$version" = "$(pkg-config --modversion ballast)" ] ||
        fail "$1 printed '$version', pkg-config says $(pkg-config --modversion ballast)"
    echo "$(basename "$1"): $version"
}

# use PREFIX: lets pkg-config find the library there and nowhere else
use() {
    pc=$(find "$1" -name ballast.pc)
    [ -n "$pc" ] || fail "no ballast.pc under $1"
    PKG_CONFIG_PATH=$(dirname "$pc")
    export PKG_CONFIG_PATH
    libdir=$(pkg-config --variable=libdir ballast)
    [ "$(realpath "$libdir")" = "$(realpath "$(dirname "$pc")/..")" ] ||
        fail "ballast.pc names $libdir, but lies in $(dirname "$pc")"
}

"$cmake" --install "$build" --prefix "$work/prefix" --component client >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "install failed"; }

use "$work/prefix"
# shellcheck disable=SC2046,SC2086 # flags are words
"$cc" $flags "$here/stranger.c" -o "$work/shared" $(pkg-config --cflags --libs ballast)
needs "$work/shared" || fail "the shared program does not load libballast.so.0"
expect_run "$work/shared" "$libdir"
exports=$(nm -D --defined-only "$libdir/libballast.so" | awk '$2 != "A" { print $3 }' |
    grep -v '^ballast_.*@@BALLAST_' || true)
[ -z "$exports" ] || [ -n "${CFLAGS:-}" ] ||
    fail "libballast.so exports more than its own: $exports"
[ -s "$work/prefix/share/man/man3/ballast_open.3" ] || fail "no manual page was installed"

# C++ programs include the same header.
if command -v c++ >/dev/null; then
    printf '%s\n' '#include <ballast/ballast.h>' \
        'int main() { ballast_options options = BALLAST_OPTIONS_INIT; return options.dp_rank; }' |
        c++ -std=c++11 -Wall -Wextra -Werror "-I$work/prefix/include" -x c++ -c - \
            -o "$work/cxx.o" ||
        fail "the header does not compile as C++"
fi

# Where only the archive is, -lballast means the archive.
cp -R "$work/prefix" "$work/archive"
find "$work/archive" -name 'libballast.so*' -exec rm {} +
use "$work/archive"
# shellcheck disable=SC2046,SC2086 # flags are words
"$cc" $flags "$here/stranger.c" -o "$work/static" $(pkg-config --cflags --static --libs ballast)
! needs "$work/static" || fail "the static program loads libballast.so.0"
expect_run "$work/static"

"$cmake" -G Ninja -S "$here/package" -B "$work/package" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_C_COMPILER="$cc" >"$work/log" 2>&1 || { cat "$work/log"; fail "find_package failed"; }
"$cmake" --build "$work/package" >"$work/log" 2>&1 || { cat "$work/log"; fail "build failed"; }
needs "$work/package/with_ballast" || fail "ballast::ballast is not the shared library"
! needs "$work/package/with_ballast_static" || fail "ballast::ballast_static is the shared library"
use "$work/prefix"
expect_run "$work/package/with_ballast"
expect_run "$work/package/with_ballast_static"
