#!/usr/bin/env bash
# Ballast on this machine, from sources to trainer ranks, in one command: installs what is missing,
# builds, makes token shards from the text that every such machine has, serves them to four example
# ranks for 50 steps, and shows what balanced packing gains. Stops everything it started.
# Debian 12 or Ubuntu 24.04; asks for nothing when run as root. A second run is quick.
set -euo pipefail
export LC_ALL=C # one way to write and to sort numbers and names

usage() {
    cat <<'TEXT'
usage: deploy/quickstart.sh [--help]

Environment:
  BALLAST_QUICKSTART_DIR    where shards, configuration and logs go (default: build/quickstart)
  BALLAST_QUICKSTART_STEPS  steps to train and to plan (default: 50)
TEXT
}

case ${1:-} in
'') ;;
--help | -h)
    usage
    exit 0
    ;;
*)
    usage >&2
    exit 64
    ;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)
work=${BALLAST_QUICKSTART_DIR:-$root/build/quickstart}
shards=$work/corpus
steps=${BALLAST_QUICKSTART_STEPS:-50}
build=$root/build/release
ballastd=$build/daemon/ballastd
ballastctl=$build/daemon/ctl/ballastctl
train_rank=$build/client/examples/train_rank
sockets='' # a short folder: the path of a socket has at most 107 bytes
children=() # every process that this script started and has not yet waited for

say() {
    printf '[%3d s] %s\n' "$SECONDS" "$*"
}

die() {
    printf 'quickstart: %s\n' "$*" >&2
    exit 1
}

# background LOG COMMAND...: a child, its process in $!, that goes even if this script is killed.
background() {
    local log=$1
    shift
    setpriv --pdeathsig TERM "$@" >"$log" 2>&1 9>&- &
    children+=($!)
}

# Ends one child: asks, and insists if it has not gone after ten seconds.
stop() {
    kill -TERM "$1" 2>/dev/null || return 0
    timeout 10 tail --pid="$1" -s 0.1 -f /dev/null || kill -KILL "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}

clean_up() {
    trap '' INT TERM HUP
    for child in "${children[@]}"; do
        stop "$child"
    done
    [ -z "$sockets" ] || rm -rf "$sockets"
    rm -rf "$shards.partial"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

build_release() {
    say "building in ${build#"$root"/}"
    # An existing folder keeps its choices, and ninja configures again when it must.
    if [ ! -f "$build/build.ninja" ]; then
        mkdir -p "$build"
        # The tests need more packages than the programs.
        (cd "$root" && cmake --preset release -DBALLAST_TESTS=OFF) >"$build/configure.log" 2>&1 || {
            cat "$build/configure.log"
            die "cmake could not configure: see above"
        }
    fi
    cmake --build "$build" --target ballastd ballastctl train_rank
}

# Names, sizes and times of all the text, and the program that reads it: unchanged, no import.
corpus_state() {
    find /usr/share/doc /usr/share/common-licenses /usr/include -type f -printf '%p %s %T@\n' \
        2>/dev/null | sort | cksum
    cksum <"$ballastctl"
}

# import_source NAME PATH...: one shard; its folder is still to be renamed, so it is not shown.
import_source() {
    local name=$1
    shift
    "$ballastctl" import --out "$shards.partial/$name" "$@" | sed "s|.*/|          |"
}

import_text() {
    corpus_state >"$work/state"
    if cmp -s "$work/state" "$shards/state"; then
        say "shards are up to date"
        return
    fi
    say "making shards from documentation, licences and headers"
    rm -rf "$shards.partial"
    mkdir -p "$shards.partial"
    import_source docs /usr/share/doc /usr/share/common-licenses
    import_source code /usr/include
    mv "$work/state" "$shards.partial/state"
    rm -rf "$shards"
    mv "$shards.partial" "$shards"
}

# The paper's setting at a context window of 128K, with bytes for tokens.
write_config() {
    cat >"$work/job.yaml" <<YAML
job: quickstart
seed: 1234
sources:
  - { name: docs, format: megatron, paths: ["$shards/docs.idx"], weight: 0.3, epochs: repeat }
  - { name: code, format: megatron, paths: ["$shards/code.idx"], weight: 0.7, epochs: repeat }
vocab_size: 257
parallel: { dp: 2, pp: 4, cp: 2, tp: 1, microbatches: 4 }
context_window: 131072
max_sequence_length: 262144
long_documents: split
packing: { policy: wlb, outlier_thresholds: [32768, 81920] }
sharding: { strategy: adaptive }
cost: { crossover_tokens: 24576 }
serve: { endpoint: "ipc://$sockets/serve", admin: "ipc://$sockets/admin" }
YAML
}

# Ready means that the admin socket answers; each try waits for an answer itself.
start_daemon() {
    say "starting ballastd"
    background "$work/ballastd.log" "$ballastd" --config "$work/job.yaml"
    daemon=$!
    local deadline=$((SECONDS + 60))
    until "$ballastctl" status --config "$work/job.yaml" --timeout 500 >/dev/null 2>&1; do
        kill -0 "$daemon" 2>/dev/null || {
            cat "$work/ballastd.log"
            die "ballastd did not start: see above"
        }
        [ "$SECONDS" -lt "$deadline" ] || die "ballastd is not ready: see $work/ballastd.log"
    done
    "$ballastctl" status --config "$work/job.yaml"
}

# Four trainer ranks side by side, dp 2 x cp 2; each checks what it receives and counts tokens.
train() {
    say "training: $steps steps on dp 2 x cp 2 ranks"
    local ranks=() dp cp began=$EPOCHREALTIME
    for dp in 0 1; do
        for cp in 0 1; do
            background "$work/rank-$dp-$cp.log" \
                "$train_rank" "ipc://$sockets/serve" "$dp" "$cp" "$steps"
            ranks+=($!)
        done
    done
    local rank
    for rank in "${ranks[@]}"; do
        wait "$rank" || {
            tail -n 3 "$work"/rank-*.log
            die "a rank failed: see above"
        }
    done
    awk -v began="$began" -v ended="$EPOCHREALTIME" '
        /^total:/ { ranks++; for (i = 1; i < NF; i++) if ($i == "tokens") tokens += $(i + 1) }
        END { printf "          %d ranks received %d tokens in %.2f s: %.1f million tokens/s\n",
                     ranks, tokens, ended - began, tokens / (ended - began) / 1e6 }
    ' "$work"/rank-*.log
}

# row POLICY STRATEGY: the figures of the object that `ballastctl plan --summary --json` prints.
row() {
    "$ballastctl" plan --config "$work/job.yaml" --steps "$steps" --summary --json \
        --set "packing.policy=$1" --set "sharding.strategy=$2" >"$work/plan-$1.json"
    awk -v policy="$1" -v strategy="$2" '
        function after(text, key) {
            return substr(text, index(text, "\"" key "\":") + length(key) + 3)
        }
        { printf "  %-8s %-13s %10.3f %10.3f %15.3f %16.3f %9.2f\n", policy, strategy,
            after(after($0, "imbalance"), "mean"), after(after($0, "imbalance"), "max"),
            after($0, "makespan_ratio"), after($0, "busiest_over_ideal"),
            after(after($0, "delay"), "mean") }
    ' "$work/plan-$1.json"
}

show_gain() {
    say "planning $steps steps in three ways, to compare"
    printf '\n  %-8s %-13s %10s %10s %15s %16s %9s\n' packing sharding imbalance 'at most' \
        'makespan ratio' 'busiest CP rank' delay
    row plain per-sequence
    row wlb adaptive
    row adaptive hybrid
    cat <<'TEXT'

  imbalance: work of the busiest micro-batch of a step over the mean; 1 is level; the mean over all
    steps, and at most in any, which may be one of few tokens
  makespan ratio: sum of the busiest over sum of the means: what all steps take over what they need
  busiest CP rank: attention work of the busiest context-parallel rank over its fair share
  delay: steps that a token waits for company, on average
  wlb with adaptive sharding is the paper; adaptive packing and hybrid sharding are Ballast's own.
  A token is a byte; context window 131072; attention costs as much as the rest at B = 24576.
TEXT
}

say "packages"
"$root/deploy/install-deps.sh" build
build_release
mkdir -p "$work"
exec 9>"$work/lock"
flock --nonblock 9 || die "another quickstart is using $work"
sockets=$(TMPDIR=/tmp mktemp -d)
import_text
write_config
start_daemon
train
say "stopping ballastd"
stop "$daemon"
show_gain
say "done; configuration and logs are in $work"
