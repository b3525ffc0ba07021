#!/bin/sh
# Installs the packages that Ballast needs, for each purpose named. Debian 12, Ubuntu 24.04.
# What is installed already is skipped, so a second run is instant and needs no network.
# As root it asks nothing; otherwise it calls sudo.
set -eu

usage() {
    cat <<'TEXT'
usage: deploy/install-deps.sh [--list] [PURPOSE...]

Purposes:
  run    shared libraries that ballastd, ballastctl and libballast load
  build  compiler, build system and libraries to compile against (the default)
  test   what tests/run.sh needs besides
  lint   what .ci/run needs besides: clang, clang-tidy, cppcheck, clang-format

  --list  print the packages instead of installing them
TEXT
}

packages() {
    case $1 in
    run) echo libzmq5 libprotobuf-c1 libxxhash0 libuv1 libcyaml1 libyaml-0-2 libjansson4 \
        zlib1g libsystemd0 ;;
    build) echo gcc libc6-dev cmake ninja-build pkgconf protobuf-c-compiler libprotobuf-c-dev \
        libzmq3-dev libxxhash-dev libuv1-dev libcyaml-dev libyaml-dev libjansson-dev zlib1g-dev \
        libsystemd-dev ;;
    test) echo g++ libcriterion-dev libglpk-dev python3 python3-venv git ;;
    # The clang tools keep one version everywhere: another one formats differently.
    lint) echo clang-14 libclang-rt-14-dev llvm-14 clang-tidy-14 clang-format-14 cppcheck \
        shellcheck mandoc ;;
    *)
        echo "install-deps.sh: unknown purpose '$1': expected run, build, test or lint" >&2
        exit 64
        ;;
    esac
}

# True if a package of that name, or one that provides it, is installed.
installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ||
        printf '%s\n' "$provided" | grep -qx "$1"
}

# Names that installed packages provide: libuv1 is called libuv1t64 in Ubuntu 24.04, for example.
provided_names() {
    dpkg-query -W -f '${db:Status-Status} ${Provides}\n' | sed -n 's/^installed //p' |
        tr ',' '\n' | sed 's/^ *//; s/ .*//' | sort -u
}

missing_of() {
    for name in "$@"; do
        installed "$name" || printf '%s ' "$name"
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "install-deps.sh: not root and no sudo: as root, run: apt-get install $missing" >&2
        exit 77
    fi
}

install_missing() {
    echo "installing: $missing"
    as_root apt-get update -q
    # shellcheck disable=SC2086 # one word a package
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        -o Dpkg::Use-Pty=0 $missing
}

list=no
wanted=
for argument in "$@"; do
    case $argument in
    --help | -h)
        usage
        exit 0
        ;;
    --list) list=yes ;;
    *) wanted="$wanted $(packages "$argument")" ;;
    esac
done
[ -n "$wanted" ] || wanted=$(packages build)

if [ $list = yes ]; then
    # shellcheck disable=SC2086 # one word a package
    printf '%s\n' $wanted
    exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "install-deps.sh: no apt-get here: install what '$0 --list' names by hand" >&2
    exit 69
fi
provided=$(provided_names)
# shellcheck disable=SC2086 # one word a package
missing=$(missing_of $wanted)
[ -z "$missing" ] || install_missing
