#!/usr/bin/env bash
# The `short` budget of all experiments on a machine with a GPU that is lent for minutes at a time and forgets everything: call it again and
# again, it goes on where the last call stopped. Needs .staged (scripts/stage-headers.sh) where packages are missing.
#   scripts/gpu-reproduce.sh SECONDS [STATE]     stop after SECONDS; STATE: what the last call left in $OUT, if the machine is a new one
# Leaves all runs in $OUT/runs.txz.00, .01, …. With all of them in RUNS: lab/reproduce all --budget short --device cuda --collect --out RUNS
#   LATHER_COMMIT=… names the commit in the runs if the tree is a copy without its history. PARTS=timed or untimed: only these experiments.
# Timed experiments come last and alone. Matrix problems need no GPU: run them elsewhere, and all on one machine, since rounding decides where some of them end.
set -uo pipefail
cd "$(dirname "$0")/.."
limit=${1:?seconds} state=${2:-} work=${WORK:-/tmp/lather-reproduction}
begin=$(date +%s)
left() { echo $((limit - $(date +%s) + begin)); }
export PATH=/usr/local/cuda/bin:$PATH LATHER_CACHE=$work/cache
OUT=${OUT:-build/gpu-logs}
mkdir -p "$OUT" "$work"
if [ ! -d "$work/short" ] && [ -n "$state" ]; then cat "$state"/runs.txz.* | tar xJ -C "$work" && echo "restored: $(ls "$work/short/runs" | wc -l) runs"; fi
{ cmake --preset cuda -DLATHER_COMMIT="${LATHER_COMMIT:-}" && cmake --build --preset cuda --target lather_command lather_shared lab_matrix; } >"$work/build.log" 2>&1 ||
  { tail -n 30 "$work/build.log"; exit 1; }
export LATHER_COMMAND=$PWD/build/cuda/bin/lather LATHER_LIBRARY=$PWD/build/cuda/lib/liblather.so LATHER_LAB_MATRIX=$PWD/build/cuda/bin/lab_matrix
timed=(trigger-sensitivity wall-clock width-scaling)
# K-FAC first: its runs take the longest.
others=(kfac ablation-basis ablation-tau cavity-width final-residual gamma-transient inner-optimizer paper-size physical-errors pinn-methods self-scaled
        small-network storage trigger-diagnostics trigger-region)
reproduce() {
  [ "$(left)" -gt 20 ] || return 1
  lab/reproduce "$@" --budget short --device cuda --jobs "$(nproc)" --time-limit "$(left)" --out "$work/short" >>"$work/log" 2>&1
}
case ${PARTS:-all} in
  untimed) reproduce "${others[@]}" ;;
  timed) reproduce "${timed[@]}" ;;
  all) reproduce "${others[@]}" && reproduce "${timed[@]}" ;;
  *) echo "PARTS: expected timed or untimed, not '$PARTS'"; exit 2 ;;
esac
status=$?
[ -d "$work/short/runs" ] || { echo "nothing has run: $limit s are too short"; exit $status; }
tail -n 3 "$work/log"
rm -f "$OUT"/runs.txz.*
# Checkpoints of interrupted runs are left out: some are as large as all the rest, and a run takes seconds.
(cd "$work" && XZ_OPT="-T0 -2" tar cJf - --exclude=checkpoints short/runs log) | split -b 15000000 -d - "$OUT/runs.txz."
ls -la "$OUT"
exit $status
