#!/bin/sh
# Installs the attention kernels of a build into a folder of their own and builds a C program
# against them: with pkg-config and with the CMake package, shared and static. Needs no GPU.
# usage: test_attention.sh BUILD CUDA-LIBRARY-DIRECTORY
set -eu

build=$1
cuda=$2
here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
cmake=${CMAKE:-cmake}
flags="-std=c17 -Wall -Wextra -Wpedantic -Werror ${CFLAGS:-}"
package=ballast-attention library=ballast_attention
RUN_PATH=$cuda
# shellcheck source=installed.sh
. "$here/installed.sh"

quietly install "$cmake" --install "$build" --prefix "$work/prefix" --component kernels

use "$work/prefix"
# shellcheck disable=SC2046,SC2086 # flags are words
quietly "linking the shared library" "$cc" $flags "$here/stranger_attention.c" -o "$work/shared" \
    "-Wl,-rpath-link,$cuda" $(pkg-config --cflags --libs $package)
needs "$work/shared" || fail "the shared program does not load lib$library.so.0"
expect_run "$work/shared" "$libdir"
expect_exports '^ballast_attention_.*@@BALLAST_ATTENTION_'
! readelf -d "$libdir/lib$library.so" | grep -E 'NEEDED.*(libstdc|libcudart|libcublas)' ||
    fail "lib$library.so loads what it must not need"
! readelf -d "$libdir/lib$library.so" | grep -E 'R(UN)?PATH' ||
    fail "lib$library.so looks for libraries where it was built"

# Nothing that was installed for others to read knows where it was built.
source=$(cd "$here/../.." && pwd)
! grep -rlF -e "$(realpath "$build")" -e "$source" -e "$cuda" "$work/prefix/include" \
    "$libdir/pkgconfig" "$libdir/cmake" || fail "absolute paths of this machine were installed"

# Code for Ampere and for Hopper is in it.
if command -v cuobjdump >/dev/null; then
    for arch in sm_80 sm_90a; do
        cuobjdump --list-elf "$libdir/lib$library.so" | grep -q "$arch" ||
            fail "lib$library.so has no code for $arch"
    done
fi

# Where only the archive is, -lballast_attention means the archive.
cp -R "$work/prefix" "$work/archive"
find "$work/archive" -name "lib$library.so*" -exec rm {} +
use "$work/archive"
# shellcheck disable=SC2046,SC2086 # flags are words
quietly "linking the archive" "$cc" $flags "$here/stranger_attention.c" -o "$work/static" \
    $(pkg-config --cflags --static --libs $package) "-L$cuda"
! needs "$work/static" || fail "the static program loads lib$library.so.0"
expect_run "$work/static"

quietly find_package "$cmake" -G Ninja -S "$here/package_attention" -B "$work/package" \
    -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc" -DCUDA_LIBRARY_DIRECTORY="$cuda"
quietly build "$cmake" --build "$work/package"
needs "$work/package/with_attention" || fail "ballast::attention is not the shared library"
! needs "$work/package/with_attention_static" ||
    fail "ballast::attention_static is the shared library"
use "$work/prefix"
expect_run "$work/package/with_attention"
expect_run "$work/package/with_attention_static"

# C++ programs include the same headers.
if command -v c++ >/dev/null; then
    for header in "$work"/prefix/include/ballast/*.h; do
        echo "#include <ballast/$(basename "$header")>"
    done >"$work/cxx.cpp"
    quietly "including the headers in C++" c++ -std=c++11 -Wall -Wextra -Werror \
        "-I$work/prefix/include" -c "$work/cxx.cpp" -o "$work/cxx.o"
fi
