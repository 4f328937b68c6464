#!/usr/bin/env bash
# Trains a dozen short runs with two builds of the command and compares their histories: proof that a refactoring
# left the numbers alone.
#   scripts/compare-histories.sh BEFORE AFTER      paths of two lather commands
# Network, points and optimizer are pinned here, so that recipes and defaults may change between the two. A setting
# that differs all the same is named. Exit status 1 if any history differs by more than 1e-12.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,6s/^# //p' "$0"; exit 2; }
before=$(realpath "$1") after=$(realpath "$2")
problems=$(realpath "$(dirname "$0")/../problems")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# problem; point sets besides the interior; steps; optimizer
runs=(
  'burgers;;40;name = "adam", learning_rate = 1e-3'
  'burgers;;40;name = "ss-esoap", learning_rate = 1e-3'
  'burgers;;40;name = "ss-esoap-paper", learning_rate = 1e-3'
  'burgers;;12;name = "lm"'
  'kdv;initial;40;name = "soap", learning_rate = 1e-3'
  'kdv;initial;40;name = "purifying-shampoo", learning_rate = 1e-3'
  'allen-cahn;initial;40;name = "muon", learning_rate = 1e-3'
  'allen-cahn;initial;12;name = "lbfgs"'
  'wave;initial walls;30;name = "ss-broyden"'
  'poisson-2d;;10;name = "engd"'
  'poisson-2d;;10;name = "spring"'
  'heat-1d;initial walls;10;name = "kfac"'
  'helmholtz;walls;30;name = "shampoo", learning_rate = 1e-3'
  'ginzburg-landau;initial;20;name = "multiadam", learning_rate = 1e-3, groups = [0, 0, 1, 1]'
)

# The physics of a bundled problem with the settings of this script.
pinned() {  # problem, point sets, steps, optimizer
  awk '/^\[/ { keep = ($0 !~ /^\[+(network|training|reference)[].]/) } keep || !seen_table; /^\[/ { seen_table = 1 }' "$problems/$1.toml"
  printf '\n[network]\ntype = "mlp"\nwidth = 16\ndepth = 3\n'
  printf '\n[training]\noptimizer = {%s}\n\n[training.quick]\nsteps = %s\n' "$4" "$3"
  printf 'points = {interior = 256'
  for set in $2; do printf ', %s = 64' "$set"; done
  printf '}\nsampling = {method = "sobol"}\n'
}

differ=0
printf '%-62s %s\n' "run" "histories"
for i in "${!runs[@]}"; do
  IFS=';' read -r problem sets steps optimizer <<<"${runs[$i]}"
  pinned "$problem" "$sets" "$steps" "$optimizer" >"$work/$problem.toml"
  for side in before after; do
    "${!side}" train "$work/$problem.toml" --set training.record_every=1 --threads 1 --quiet --seed 5 --out "$work/$side-$i" \
      >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  done
  verdict=$(python3 - "$work/before-$i" "$work/after-$i" <<'PY'
import json, sys
config = [json.load(open(f"{run}/config.json"))["optimizer"] for run in sys.argv[1:]]
changed = [f"{key}: {config[0][key]} -> {config[1][key]}" for key in config[0] if key in config[1] and config[0][key] != config[1][key]]
a, b = ([json.loads(line) for line in open(f"{run}/history.jsonl")] for run in sys.argv[1:])
largest, first = 0.0, 0
if len(a) != len(b): print(f"DIFFERENT LENGTHS {len(a)} {len(b)}"); sys.exit()
for one, two in zip(a, b):
    for key in one.keys() & two.keys():
        if key in ("step", "loss", "residual", "gradient_norm", "step_norm") or key.startswith("loss."):
            scale = max(abs(one[key]), abs(two[key]), 1e-300)
            difference = abs(one[key] - two[key]) / scale
            if difference > 0 and first == 0: first = one["step"]
            largest = max(largest, difference)
words = "identical" if largest == 0 else f"largest relative difference {largest:.1e}, from step {first}"
if largest > 1e-12: words += " DIFFERENT"
if changed: words += " (settings: " + ", ".join(changed) + ")"
print(words)
PY
)
  printf '%-62s %s\n' "$problem $optimizer, $steps steps" "$verdict"
  case $verdict in *DIFFERENT*) differ=1 ;; esac
done
exit $differ
