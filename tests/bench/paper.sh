#!/usr/bin/env bash
# Prints the paper's tables beside what `ballastctl simulate` predicts (paper.py says how).
set -euo pipefail
exec "$(cd "$(dirname "$0")" && pwd)/run.sh" "$@" paper
