#!/usr/bin/env bash
# Ranks on the GPUs of this machine, or sharing its one: histories must have the bytes of one process with as many shards; what
# shards, ranks and reductions cost is printed. With NCCL, as many ranks as there are GPUs add up by it; where there is one GPU,
# one rank does, inside its graphs.
#   scripts/gpu-ranks.sh [LATHER]      default: build/cuda/bin/lather; STEPS=8: so many of every case
# Below a minute on an H200.
set -uo pipefail
cd "$(dirname "$0")/.."
lather=$(realpath "${1:-build/cuda/bin/lather}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
status=0
# NCCL from the toolkit or from Python's packages, if the system's search path has none.
for folder in /usr/local/cuda/lib64 /usr/local/cuda/lib "$(python3 -c "import nvidia.nccl as n; print(list(n.__path__)[0])" 2>/dev/null)/lib"; do
  [ -e "$folder/libnccl.so.2" ] && export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
nccl=$("$lather" doctor | grep '^NCCL')
echo "$nccl"
gpus=$(nvidia-smi -L 2>/dev/null | wc -l)
[ "$gpus" -gt 0 ] || gpus=${LATHER_EMULATED_GPUS:-1}
[ "$gpus" -gt 8 ] && gpus=8

has_nccl() { [[ $nccl == *'NCCL 2.'* && $nccl != *'too old'* ]]; }

# label; steps; arguments
network() { echo "--set network.width=$1 --set network.depth=4 --set training.points.interior=$2"; }
cases=(
  "adam, 4 x 128, 8192 points;1000;burgers --optimizer adam $(network 128 8192)"
  "ss-esoap, 4 x 64, 4096 points;400;burgers --optimizer ss-esoap $(network 64 4096)"
  "lbfgs, 4 x 64, 4096 points;60;burgers --optimizer lbfgs $(network 64 4096)"
  "lm, 4 x 32, 6000 points;8;burgers --optimizer lm --set optimizer.form=primal $(network 32 6000)"
)
# Over the second half of the steps: graphs are made in the first.
milliseconds() {
  python3 - "$1/timing.csv" <<'END'
import sys
rows = [tuple(map(float, line.split(","))) for line in open(sys.argv[1]).read().split()[1:]]
begin = next(row for row in rows if row[0] >= rows[-1][0] / 2)
print(f"{1e3 * (rows[-1][1] - begin[1]) / (rows[-1][0] - begin[0]):.3f}")
END
}
# name of the run; the run whose history it must match, or "-"; launcher and command…
measure() {
  local out=$work/$1 like=$2
  rm -rf "$out"
  if ! "${@:3}" --steps "$steps" --device cuda --quiet --seed 1 --set training.reference=false --set training.validate_every="$steps" \
    --set training.record_every=$((steps / 4)) --out "$out" >"$work/log" 2>&1; then
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
first=yes
for case in "${cases[@]}"; do
  IFS=';' read -r label steps arguments <<<"$case"
  [ -n "${STEPS:-}" ] && steps=$STEPS
  read -ra words <<<"$arguments"
  measure one - "$lather" train "${words[@]}"
  measure one-8-shards - "$lather" train "${words[@]}" --shards 8
  measure ranks-2 one-8-shards "$lather" train "${words[@]}" --ranks 2
  if [ $first ]; then
    measure ranks-1 one-8-shards "$lather" train "${words[@]}" --ranks 1
    measure ranks-4 one-8-shards "$lather" train "${words[@]}" --ranks 4
    [ -e "$(dirname "$lather")/../lib/lather_mpi.so" ] && measure mpirun-2 one-8-shards mpirun --oversubscribe -n 2 "$lather" train "${words[@]}"
  fi
  has_nccl || continue
  for n in $(printf '%s\n' 1 2 3 "$gpus" | sort -nu); do
    [ "$n" -gt "$gpus" ] && continue
    measure "nccl-$n" one-8-shards "$lather" train "${words[@]}" --ranks "$n" --reduction nccl
    [ $first ] && measure "nccl-sum-$n" - "$lather" train "${words[@]}" --ranks "$n" --reduction nccl-sum
  done
  first=
done
has_nccl || exit $status
# More ranks than GPUs: NCCL would refuse, and the message says what to do.
"$lather" train burgers --device cuda --steps 1 --quiet --ranks $((gpus + 1)) --reduction nccl --out "$work/shared" >"$work/log" 2>&1 && status=1
grep 'share one; use' "$work/log" || { echo "not refused: $(tail -1 "$work/log")"; status=1; }
# A reduction by itself.
bench=$(dirname "$lather")/bench_nccl_cuda
if [ -x "$bench" ]; then "$bench" "$gpus" || status=1; fi
exit $status
