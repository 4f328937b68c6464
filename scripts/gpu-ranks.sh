#!/usr/bin/env bash
# Ranks on the GPUs of this machine, or sharing its one: histories must have the bytes of one process with as many shards; what
# shards and ranks cost is printed.
#   scripts/gpu-ranks.sh [LATHER]      default: build/cuda/bin/lather
set -uo pipefail
cd "$(dirname "$0")/.."
lather=$(realpath "${1:-build/cuda/bin/lather}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
status=0

# label; arguments
cases=(
  'adam, 4 x 128, 8192 points;burgers --optimizer adam --steps 300 --set network.width=128 --set network.depth=4 --set training.points.interior=8192'
  'ss-esoap, 4 x 64, 4096 points;burgers --optimizer ss-esoap --steps 300 --set network.width=64 --set network.depth=4 --set training.points.interior=4096'
  'lbfgs, 4 x 64, 4096 points;burgers --optimizer lbfgs --steps 100 --set network.width=64 --set network.depth=4 --set training.points.interior=4096'
  'lm, 4 x 32, 6000 points;burgers --optimizer lm --steps 10 --set network.width=32 --set network.depth=4 --set training.points.interior=6000 --set optimizer.form=primal'
)
milliseconds() { python3 -c "import json; print(f\"{1e3 / json.load(open('$1/summary.json'))['steps_per_second']:.3f}\")"; }
# name of the run; the run whose history it must have, or "-"; launcher and command…
measure() {
  local out=$work/$1 like=$2
  rm -rf "$out"
  if ! "${@:3}" --device cuda --quiet --seed 1 --set training.reference=false --set training.validate_every=100 --out "$out" >"$work/log" 2>&1; then
    echo "| $label | $1 | failed: $(tail -1 "$work/log") | |"
    status=1
    return
  fi
  local same=
  if [ "$like" != - ]; then
    same="same bytes as $like"
    cmp -s "$work/$like/history.csv" "$out/history.csv" || { same="OTHER BYTES than $like"; status=1; }
  fi
  echo "| $label | $1 | $(milliseconds "$out") | $same |"
}
printf '| case | processes | ms/step | history |\n|---|---|---|---|\n'
for case in "${cases[@]}"; do
  IFS=';' read -r label arguments <<<"$case"
  read -ra words <<<"$arguments"
  measure one - "$lather" train "${words[@]}"
  measure "one-8-shards" - "$lather" train "${words[@]}" --shards 8
  for n in 1 2 3 4; do measure "ranks-$n" one-8-shards "$lather" train "${words[@]}" --ranks $n; done
  command -v mpirun >/dev/null || continue
  for n in 1 2 4; do measure "mpirun-$n" one-8-shards mpirun --oversubscribe -n $n "$lather" train "${words[@]}"; done
done
exit $status
