#!/bin/sh
# Installs the client library of a build into a folder of its own and builds a program against it:
# with pkg-config, shared and static, and with the CMake package. usage: test_client.sh BUILD
set -eu

build=$1
here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
cmake=${CMAKE:-cmake}
flags="-std=c17 -Wall -Wextra -Wpedantic -Werror ${CFLAGS:-}"
package=ballast library=ballast
# shellcheck source=installed.sh
. "$here/installed.sh"

quietly install "$cmake" --install "$build" --prefix "$work/prefix" --component client

use "$work/prefix"
# shellcheck disable=SC2046,SC2086 # flags are words
"$cc" $flags "$here/stranger.c" -o "$work/shared" $(pkg-config --cflags --libs ballast)
needs "$work/shared" || fail "the shared program does not load libballast.so.0"
expect_run "$work/shared" "$libdir"
expect_exports '^ballast_.*@@BALLAST_'
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

quietly find_package "$cmake" -G Ninja -S "$here/package" -B "$work/package" \
    -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc"
quietly build "$cmake" --build "$work/package"
needs "$work/package/with_ballast" || fail "ballast::ballast is not the shared library"
! needs "$work/package/with_ballast_static" || fail "ballast::ballast_static is the shared library"
use "$work/prefix"
expect_run "$work/package/with_ballast"
expect_run "$work/package/with_ballast_static"
