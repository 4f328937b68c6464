#!/usr/bin/env bash
# Seven optimizers on four problems, everything else the same: network, points, precision, time, seeds. Prints Markdown:
# mean relative L2 error (smallest to largest), median steps. One thread per run.
#
#   SECONDS_PER_RUN=60 JOBS=16 scripts/matched-table.sh [folder]     84 runs: 84 × 60 s / 16 = 5.3 min
#
# An interrupted table goes on with the same folder; runs that have a summary are not repeated.
set -euo pipefail
cd "$(dirname "$0")/.."
export lather=${LATHER:-build/release/bin/lather}
export seconds=${SECONDS_PER_RUN:-60}
jobs=${JOBS:-$(nproc)}
export out=${1:-runs/matched-$(date +%Y%m%d-%H%M%S)}
optimizers="adam soap ss-esoap lbfgs ss-broyden kfac lm"
problems="burgers allen-cahn kdv poisson-2d"
seeds="1 2 3"

# Small enough for dense methods: 1,341 parameters (poisson-2d, burgers), 1,401 (allen-cahn), 1,361 (kdv). Causal weights, which
# change the loss between steps, are off: line searches compare values of one loss. Points are drawn again every 50 steps.
run() {
  local problem=$1 optimizer=$2 seed=$3 folder=$out/$1/$2-$3
  [ -f "$folder/summary.json" ] && return
  rm -rf "$folder"
  local own=()  # of the problem
  case $problem in allen-cahn | kdv) own=(--set training.causal_tolerance=0) ;; esac
  OMP_NUM_THREADS=1 "$lather" train "$problem" --optimizer "$optimizer" --seed "$seed" --threads 1 --time "$seconds" --steps 1000000000 \
    --set network.width=20 --set network.depth=4 --set training.points.interior=4096 --set training.sampling.method=adaptive \
    --set training.sampling.every=50 "${own[@]}" --out "$folder" >"$folder.log" 2>&1 ||
    echo "$folder: failed, see $folder.log" >&2
}
export -f run

for problem in $problems; do
  mkdir -p "$out/$problem"
  # The reference is computed once, before the clock runs, and kept in $LATHER_CACHE.
  "$lather" train "$problem" --steps 1 --time 1 --threads 1 --quiet --out "$out/$problem/warm" >/dev/null
  rm -rf "$out/$problem/warm"
done
for seed in $seeds; do
  for problem in $problems; do
    for optimizer in $optimizers; do echo "$problem $optimizer $seed"; done
  done
done | xargs -P "$jobs" -L 1 bash -c 'run "$@"' run

# A run's L2 error at its best held-out step (of the worst field), and its steps.
figures() {
  awk '/"best"/ {best = 1} best && /"l2"/ {l2 = 1; next} l2 && /}/ {l2 = best = 0}
       l2 {split($0, a, ": "); v = a[2] + 0; if (v > worst) worst = v} /^  "step":/ {split($0, a, ": "); steps = a[2] + 0}
       END {print worst, steps}' "$1"
}
echo
echo "| optimizer |$(printf ' %s |' $problems)"
echo "|---|$(printf -- '---|%.0s' $problems)"
for optimizer in $optimizers; do
  printf '| `%s` |' "$optimizer"
  for problem in $problems; do
    for seed in $seeds; do
      summary=$out/$problem/$optimizer-$seed/summary.json
      [ -f "$summary" ] && figures "$summary"
    done | sort -g | awk '{l2[NR] = $1; steps[NR] = $2; sum += $1}
      END {
        if (NR == 0) {printf " failed |"; exit}
        for (i = 1; i <= NR; ++i) for (j = 1; j < i; ++j) if (steps[j] > steps[i]) {t = steps[i]; steps[i] = steps[j]; steps[j] = t}
        printf " %.1e (%.1e–%.1e), %d |", sum / NR, l2[1], l2[NR], steps[int((NR + 1) / 2)]
      }'
  done
  echo
done | tee "$out/table.md"
echo
echo "mean L2 (smallest–largest of ${seeds// /, }), median steps; $seconds s on one thread each. Runs and logs: $out"
