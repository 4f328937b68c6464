#!/usr/bin/env bash
# The table of docs/results.md: every problem, one recipe, several seeds. Prints Markdown: the error (median, smallest to largest of the
# seeds), training time, network, the paper's error and the best published one.
#
#   scripts/results-table.sh --recipe quick --jobs 8 --threads 2              # sixteen cores: 8 runs side by side, two threads each
#   scripts/results-table.sh --recipe best --device cuda --jobs 4 --threads 4 # four runs share the GPU: times are upper bounds
#   scripts/results-table.sh --recipe best --device cuda --problems "burgers kdv" --seeds "1 2 3" --out runs/results-best
#   scripts/results-table.sh --unseen --jobs 4 --threads 2                    # tests/unseen/*.toml, which no setting was tuned for, by defaults
#
# A row is a problem by its recipe, PROBLEM@lm the same with --optimizer lm, PROBLEM:re1000 its recipe re1000, kuramoto-sivashinsky:t1 the chaotic t <= 1.
# --time S: at most S seconds of training per run (default: what the recipe says). --set KEY=VALUE (may be repeated) goes to every run.
# --table: print the table of what is there and run nothing. Runs that have a summary are not repeated: the same --out goes on.
# --page: put the tables under runs/results-NAME between <!-- table NAME --> and <!-- end table --> of docs/results.md and run nothing;
# all else on the page stays. A table without its pair of lines is added at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
export lather=${LATHER:-build/release/bin/lather}
recipe=quick device=cpu seeds="1 2 3" problems="" jobs=1 threads=2 out="" unseen=0 table=0 page=0
more=()
while [ $# -gt 0 ]; do
  case $1 in
    --recipe) recipe=$2; shift ;;
    --device) device=$2; shift ;;
    --seeds) seeds=$2; shift ;;
    --problems) problems=$2; shift ;;
    --jobs) jobs=$2; shift ;;
    --threads) threads=$2; shift ;;
    --time) more+=(--time "$2"); shift ;;
    --set) more+=(--set "$2"); shift ;;
    --out) out=$2; shift ;;
    --unseen) unseen=1 ;;
    --table) table=1 ;;
    --page) page=1 ;;
    *) sed -n '2,16s/^# \{0,1\}//p' "$0"; echo "unknown option: $1" >&2; exit 2 ;;
  esac
  shift
done
if [ "$unseen" = 1 ]; then
  recipe=defaults
  [ -n "$problems" ] || problems=$(cd tests/unseen && ls ./*.toml | sed 's|^\./||; s|\.toml$||')
fi
if [ -z "$problems" ]; then
  problems="burgers burgers@lm burgers-soft wave allen-cahn allen-cahn@lm kdv ginzburg-landau gray-scott lid-driven-cavity boussinesq
    kuramoto-sivashinsky kuramoto-sivashinsky:t1 burgers-inverse helmholtz poisson-2d heat-1d burgers-selfsimilar"
  [ "$recipe" != best ] || problems="$problems kdv@lm kuramoto-sivashinsky@lm lid-driven-cavity:re1000"
fi
export out=${out:-runs/results-$recipe-$device} recipe device threads unseen
export options="${more[*]@Q}"

# Relative L2 errors: the paper's own ("Self-Scaled Adaptive Preconditioning for Physics-Informed Learning", SS-eSOAP) and the best published ones
# known to us, with what differs in them.
published() {
  case ${1%[@:]*} in
    burgers) echo "8.45e-5 ± 0.34e-5|1.6e-8 (SS-Broyden)" ;;
    wave) echo "–|1.2e-15 (DSGNAR, 635 s)" ;;
    allen-cahn) echo "2.78e-4 ± 0.11e-4|9.4e-7 (SS-Broyden)" ;;
    kdv) echo "1.15e-3 ± 0.04e-3|8.2e-11 (DSGNAR, 1,210 s)" ;;
    ginzburg-landau) echo "–|1.5e-2 (PirateNets)" ;;
    gray-scott) echo "–|3.6e-3 (PirateNets)" ;;
    lid-driven-cavity) echo "–|4.2e-2 (PirateNets, Re 3200)" ;;
    boussinesq) echo "4.12e-4 ± 0.16e-4|λ = 1.92055997" ;;
    kuramoto-sivashinsky) echo "–|5.1e-7 (DSGNAR, t ≤ 1, 5,227 s)" ;;
    helmholtz) echo "–|2e-9 (SPRING, 540 s)" ;;
    *) echo "–|–" ;;
  esac
}

# The command for a row, without what all rows share; the problem comes first.
command_of() {
  local problem=${1%[@:]*} chosen="--recipe $recipe"
  [ "$unseen" = 0 ] || { problem=tests/unseen/$problem.toml chosen=""; }
  case $1 in
    # Twice the time in twice the windows and steps of the recipe.
    *:t1) if [ "$recipe" = best ]; then set -- 2400 120; else set -- 1800 10; fi
      echo "$problem $chosen --steps $1 --set domain.t=[0,1] --set training.time_windows=$2" ;;
    *:*) echo "$problem --recipe ${1#*:}" ;;
    *@*) echo "$problem $chosen --optimizer ${1#*@}" ;;
    *) echo "$problem $chosen" ;;
  esac
}
label_of() {
  case $1 in
    *:t1) echo "${1%:*}, t ≤ 1" ;;
    *:*) echo "${1%:*}, \`--recipe ${1#*:}\`" ;;
    *@*) echo "${1%@*}, \`--optimizer ${1#*@}\`" ;;
    *) echo "$1" ;;
  esac
}

if [ "$page" = 1 ]; then
  for found in runs/results-*/table.md; do
    [ -f "$found" ] || continue
    name=${found#runs/results-} name=${name%/table.md}
    grep -qxF "<!-- table $name -->" docs/results.md ||
      printf '\n## %s\n\n<!-- table %s -->\n<!-- end table -->\n' "$name" "$name" >>docs/results.md
    awk -v begin="<!-- table $name -->" -v table="$found" '
      inside && $0 == "<!-- end table -->" { inside = 0 }
      !inside
      $0 == begin { inside = 1; while ((getline line < table) > 0) print line }
      END { exit inside }' docs/results.md >docs/results.md.new ||
      { rm docs/results.md.new; echo "docs/results.md: <!-- table $name --> has no <!-- end table -->" >&2; exit 1; }
    mv docs/results.md.new docs/results.md
  done
  exit
fi

run() {
  local folder=$out/$1/seed-$2 seed=$2 command
  [ -f "$folder/summary.json" ] && return
  read -ra command < <(command_of "$1")
  rm -rf "$folder"
  eval "set -- $options"
  OMP_NUM_THREADS=$threads "$lather" train "${command[@]}" --device "$device" --threads "$threads" --seed "$seed" "$@" \
    --out "$folder" >"$folder.log" 2>&1 || echo "$folder: failed, see $folder.log" >&2
}
export -f run command_of

if [ "$table" = 0 ]; then
  for problem in $problems; do mkdir -p "$out/$problem"; done
  {
    grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'
    echo "$(nproc) cores"
    [ "$device" = cuda ] && nvidia-smi --query-gpu=name --format=csv,noheader
    "$lather" --version
    echo "commit $(git describe --always --dirty=' with changes')"
    date -u '+%Y-%m-%d'
  } 2>/dev/null | paste -sd '|' | sed 's/|/, /g' >"$out/machine"
  for seed in $seeds; do
    for problem in $problems; do echo "$problem $seed"; done
  done | xargs -P "$jobs" -L 1 bash -c 'run "$@"' run
fi

# From one summary; the result is the step with the best held-out loss. The relative L2 error of the worst field, relative errors of unknowns (name value), seconds, steps,
# parameters, residual, the name of the unknown, and the errors of all fields (name=error,name=error).
figures() {
  awk '
    function number(line, a) { split(line, a, /": */); gsub(/[,"]/, "", a[2]); return a[2] + 0 }
    /^  "[a-z_]+": \{/ { section = $1; gsub(/[":]/, "", section); next }
    /^  "/ { section = "" }
    section == "best" && /"l2": \{/ { l2 = 1; next }
    l2 && /\}/ { l2 = 0 }
    l2 {
      if (number($0) > worst) worst = number($0)
      field = $1; gsub(/[":]/, "", field)
      all = all (fields++ ? "," : "") field "=" number($0)
    }
    section == "best" && /^    "residual":/ { residual = number($0) }
    section == "unknowns" && /\{/ { unknown = $1; gsub(/[":]/, "", unknown) }
    section == "unknowns" && /"known"/ { known = number($0) }
    section == "unknowns" && /"value"/ { value = number($0) }
    /^  "seconds":/ { seconds = number($0) }
    /^  "step":/ { steps = number($0) }
    /^  "parameters":/ { parameters = number($0) }
    END {
      off = known != 0 ? (value > known ? value - known : known - value) / (known < 0 ? -known : known) : -1
      print (fields ? worst : -1), off, seconds, steps, parameters, residual, (unknown == "" ? "-" : unknown), (all == "" ? "-" : all)
    }' "$1"
}

row() {
  local problem=$1
  for seed in $seeds; do
    if [ -f "$out/$problem/seed-$seed/summary.json" ]; then figures "$out/$problem/seed-$seed/summary.json"; fi
  done | sort -g | awk -v problem="$(label_of "$problem")" -v published="$(published "$problem")" '
    function order(v, i, j, t) {
      for (i = 1; i <= NR; ++i) for (j = i + 1; j <= NR; ++j) if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
    }
    # Median (smallest–largest) of the column c.
    function spread(c, i, v) {
      for (i = 1; i <= NR; ++i) v[i] = cell[i, c]
      order(v)
      return sprintf("%.1e (%.1e–%.1e)", v[int((NR + 1) / 2)], v[1], v[NR])
    }
    # For several fields: the median of each.
    function by_field(i, k, n, v, parts, pair, text) {
      n = split(cell[1, 8], parts, ",")
      if (n < 2) return ""
      for (k = 1; k <= n; ++k) {
        for (i = 1; i <= NR; ++i) { split(cell[i, 8], parts, ","); split(parts[k], pair, "="); v[i] = pair[2] + 0 }
        order(v)
        text = text (k > 1 ? ", " : "; medians: ") pair[1] sprintf(" %.1e", v[int((NR + 1) / 2)])
      }
      return text
    }
    { for (c = 1; c <= 8; ++c) cell[NR, c] = $c; seconds += $3; steps += $4 }
    END {
      split(published, other, "|")
      if (NR == 0) { printf "| %s | failed | | | | | | %s | %s |\n", problem, other[1], other[2]; exit }
      printf "| %s | %s | %s | %s | %d | %d | %.0f | %s | %s |\n", problem, (cell[1, 1] < 0 ? "–" : spread(1) by_field()),
        (cell[1, 2] < 0 ? "–" : cell[1, 7] " " spread(2)), spread(6), cell[1, 5], steps / NR, seconds / NR, other[1], other[2]
    }'
}

{
  echo "$(cat "$out/machine"): recipe \`$recipe\`, device $device, $jobs runs side by side with $threads threads each, seeds ${seeds// /, }"
  echo
  echo "| problem | relative L² error, median (smallest–largest) | unknown, relative error | residual | parameters | steps | seconds | the paper's L² | best published |"
  echo "|---|---|---|---|---|---|---|---|---|"
  for problem in $problems; do row "$problem"; done
} | tee "$out/table.md"
