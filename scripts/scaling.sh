#!/usr/bin/env bash
# Measures what ranks cost and gain on an idle machine, beside what lab_scaling predicts for them.
#   scripts/scaling.sh [LATHER]      default: build/release/bin/lather; RANKS="1 2" are measured
# One thread per rank, seconds per step without validations and with one line of history, which costs an evaluation of the loss; the
# best of three. Without mpirun its lines are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
lather=$(realpath "${1:-build/release/bin/lather}")
ranks=${RANKS:-1 2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# label; steps; arguments
cases=(
  'adam, 4 x 128, 8192 points;30;burgers --optimizer adam --set network.width=128 --set network.depth=4 --set training.points.interior=8192'
  'ss-esoap, 4 x 64, 4096 points;60;burgers --optimizer ss-esoap --set network.width=64 --set network.depth=4 --set training.points.interior=4096'
  'lm, 4 x 24, 6000 points;6;burgers --optimizer lm --set network.width=24 --set network.depth=4 --set training.points.interior=6000'
)
milliseconds() {  # launcher and command…
  local best=
  for _ in 1 2 3; do
    rm -rf "$work/run"
    "$@" --quiet --seed 1 --threads 1 --set training.reference=false --set training.validate_every=1000000 \
      --set training.record_every="$steps" --steps "$steps" --out "$work/run" >/dev/null
    best=$(python3 -c "
import json, sys
value = 1e3 / json.load(open('$work/run/summary.json'))['steps_per_second']
print(min(value, float('${best:-inf}')))")
  done
  echo "$best"
}
printf '| %-32s | %-14s | %9s | %9s | %9s | %9s |\n' case processes "ms/step" "speed-up" "estimate" "speed-up"
printf '|%s|%s|%s|%s|%s|%s|\n' ---------------------------------- ---------------- ----------- ----------- ----------- -----------
for case in "${cases[@]}"; do
  IFS=';' read -r label steps arguments <<<"$case"
  read -ra words <<<"$arguments"
  "$(dirname "$lather")/lab_scaling" "${words[@]}" --steps "$steps" --set training.record_every="$steps" --ranks 8 --json >"$work/estimate.json"
  one=$(milliseconds "$lather" train "${words[@]}" --shards 16)
  row() { printf '| %-32s | %-14s | %9.2f | %9.2f | %9.2f | %9.2f |\n' "$label" "$1" "$2" "$(python3 -c "print($one / $2)")" $(python3 -c "
import json
rows = {row['ranks']: row['seconds'] for row in json.load(open('$work/estimate.json'))['here']}
ranks = $3
print(1e3 * rows[ranks], rows[1] / rows[ranks])"); }
  row "one, 16 shards" "$one" 1
  row "one, 1 shard" "$(milliseconds "$lather" train "${words[@]}")" 1
  for n in $ranks; do
    row "--ranks $n" "$(milliseconds "$lather" train "${words[@]}" --ranks "$n")" "$n"
    command -v mpirun >/dev/null || continue
    row "mpirun -n $n" "$(milliseconds mpirun --oversubscribe -n "$n" "$lather" train "${words[@]}")" "$n"
  done
done
