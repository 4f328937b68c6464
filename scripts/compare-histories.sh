#!/usr/bin/env bash
# Trains a dozen short runs with two builds of the command and compares their histories: the proof that a change of form left the
# numbers alone.
#   scripts/compare-histories.sh BEFORE AFTER      paths of two lather commands
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,4s/^# //p' "$0"; exit 2; }
before=$(realpath "$1") after=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
small=(--set network.width=16 --set network.depth=3 --set training.record_every=1 --threads 1 --quiet --seed 5)
runs=(
  "burgers --optimizer adam --steps 40"
  "burgers --optimizer ss-esoap --steps 40"
  "burgers --optimizer ss-esoap-paper --steps 40"
  "burgers --optimizer lm --steps 12"
  "kdv --optimizer soap --steps 40"
  "kdv --optimizer purifying-shampoo --steps 40"
  "allen-cahn --optimizer muon --steps 40"
  "allen-cahn --optimizer lbfgs --steps 12"
  "wave --optimizer ss-broyden --steps 30"
  "poisson-2d --optimizer engd --steps 10"
  "poisson-2d --optimizer spring --steps 10"
  "heat-1d --optimizer kfac --steps 10"
  "helmholtz --optimizer shampoo --steps 30"
  "ginzburg-landau --optimizer multiadam --set optimizer.groups=[0,1,2,3] --steps 20"
)
differ=0
printf '%-55s %s\n' "run" "histories"
for i in "${!runs[@]}"; do
  for side in before after; do
    # shellcheck disable=SC2086
    "${!side}" train ${runs[$i]} "${small[@]}" --out "$work/$side-$i" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  done
  verdict=$(python3 - "$work/before-$i/history.jsonl" "$work/after-$i/history.jsonl" <<'PY'
import json, math, sys
a, b = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
largest = 0.0
if len(a) != len(b): print(f"DIFFERENT LENGTHS {len(a)} {len(b)}"); sys.exit()
for one, two in zip(a, b):
    for key in ("step", "loss", "residual", "gradient_norm"):
        if key in one and key in two and isinstance(one[key], (int, float)):
            scale = max(abs(one[key]), abs(two[key]), 1e-300)
            largest = max(largest, abs(one[key] - two[key]) / scale)
print("identical" if largest == 0 else f"largest relative difference {largest:.1e}" + (" DIFFERENT" if largest > 1e-12 else ""))
PY
)
  printf '%-55s %s\n' "${runs[$i]}" "$verdict"
  case $verdict in *DIFFERENT*) differ=1 ;; esac
done
exit $differ
