#!/bin/sh
# systemd accepts the unit and the user, and rates the unit's exposure at most 2.0 of 10.
# Skipped where systemd-analyze is missing or too old.
set -eu

root=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
systemd-analyze security --help 2>/dev/null | grep -q -- --offline || {
    echo "systemd: no systemd-analyze that can check a file"
    exit 77
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\n' >"$folder/ballastd"
chmod +x "$folder/ballastd"
sed "s|@CMAKE_INSTALL_FULL_BINDIR@|$folder|" "$root/deploy/systemd/ballastd.service.in" \
    >"$folder/ballastd.service"

systemd-analyze verify --man=no --recursive-errors=no "$folder/ballastd.service"
systemd-analyze security --offline=true --threshold=20 --no-pager "$folder/ballastd.service" \
    >"$folder/exposure" || {
    grep '✗' "$folder/exposure"
    tail -n 1 "$folder/exposure"
    exit 1
}
tail -n 1 "$folder/exposure"
systemd-sysusers --dry-run "$root/deploy/systemd/ballast.sysusers.conf" >"$folder/users" 2>&1 || {
    cat "$folder/users"
    exit 1
}
