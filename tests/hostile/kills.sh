#!/usr/bin/env bash
# Kills runs at random moments and resumes them, over optimizers, devices, weightings, samplings, windows and continuation. A
# run that was killed must end as the run that was left alone: no run lost, no byte of its history different.
#
#   tests/hostile/kills.sh [options] [KILLS]     default: 1000 kills
#     -j N             runs side by side (default: all cores)
#     --devices LIST   cpu, cuda, emulated, separated by commas (default: cpu). emulated: CUDA code on a machine without a GPU,
#                      needs cmake --build --preset release --target lather_emulated
#     --seconds S      as long as this, instead of a number of kills
#     --seed N         of the moments of the kills (default: the number of the day)
#     --keep FOLDER    keep the runs there
#   LATHER=… chooses another build of the command.
set -uo pipefail
cd "$(dirname "$0")/../.."
jobs=$(nproc) devices=cpu seed=$(($(date +%s) / 86400)) kills=1000 seconds="" keep=""
while [ $# -gt 0 ]; do
  case $1 in
    -j) jobs=$2; shift ;;
    --devices) devices=$2; shift ;;
    --seconds) seconds=$2; shift ;;
    --seed) seed=$2; shift ;;
    --keep) keep=$2; shift ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "unknown option $1 (see --help)" >&2; exit 2 ;;
    *) kills=$1 ;;
  esac
  shift
done
export LATHER=${LATHER:-$PWD/build/release/bin/lather}
[ -x "$LATHER" ] || { echo "no command at $LATHER: cmake --preset release && cmake --build --preset release" >&2; exit 1; }
export work=${keep:-$(mktemp -d)} seed devices
mkdir -p "$work"
[ -n "$keep" ] || trap 'rm -rf "$work"' EXIT
export kills_per_run=5

# One line per variant: what changes during a run.
variants=(
  ""
  "--set training.weighting=gradient-norm"
  "--set training.weighting=ntk"
  "--set training.weighting=self-adaptive"
  "--set training.causal_tolerance=1"
  "--set training.time_windows=3"
  "--set training.sampling.method=adaptive --set training.sampling.every=25"
  "--set training.sampling.every=10 --set optimizer.schedule.decay=exponential --set optimizer.clip.limit=1"
  "--precision float32"
  "--threads 2"
)
# Steps that take a second or two.
optimizers=(adam:600 sgd:600 muon:300 shampoo:300 soap:300 purifying-shampoo:300 multiadam:300 ss-esoap:300 ss-esoap-paper:300
  lbfgs:200 bfgs:200 ss-bfgs:200 ss-broyden:200 lm:60 engd:60 anagram:30 spring:60 kfac:40 kfac-star:40 nncg:10)

arguments_of() {  # CASE: arguments of lather train, without --out
  local case=$1
  local -a list; IFS=, read -ra list <<<"$devices"
  local device=${list[case % ${#list[@]}]}
  local number=$((case / ${#list[@]}))
  local optimizer=${optimizers[number % ${#optimizers[@]}]}
  local variant=${variants[(number / ${#optimizers[@]} + number) % ${#variants[@]}]}
  local place="--device cpu" steps=${optimizer#*:}
  [ "$device" = cpu ] || place="--device cuda"
  [ "$device" = emulated ] && steps=$((steps < 30 ? steps : 30))
  case $variant in *--threads*) ;; *) variant="$variant --threads 1" ;; esac
  echo "heat-1d --optimizer ${optimizer%:*} --steps $steps $place $variant --seed 3 --quiet --set network.width=8 --set network.depth=2" \
    "--set training.points.interior=64 --set training.reference=false --set training.checkpoint_every=7 --set training.record_every=3" \
    "--set training.validate_every=50"
}
command_of() {  # CASE
  local -a list; IFS=, read -ra list <<<"$devices"
  [ "${list[$1 % ${#list[@]}]}" = emulated ] && echo "$(dirname "$LATHER")/lather_emulated" || echo "$LATHER"
}

# A case that lather refuses (methods on residuals in float32, …) says so once and is left out.
whole() {  # CASE
  local folder=$work/whole-$1 start end
  start=$(date +%s%N)
  # shellcheck disable=SC2046
  if "$(command_of "$1")" train $(arguments_of "$1") --out "$folder" >"$folder.log" 2>&1; then
    end=$(date +%s%N)
    echo $(((end - start) / 1000000)) >"$folder.ms"
  else
    echo "refused: $(arguments_of "$1" | cut -d' ' -f1-3): $(head -1 "$folder.log")" >"$folder.refused"
  fi
}

# Prints: kills, kills before anything was written, lost (0 or 1), differing bytes.
killed() {  # RUN CASE
  local run=$1 case=$2 folder=$work/killed-$1 done=0 early=0 milliseconds status differing=0
  milliseconds=$(cat "$work/whole-$case.ms")
  RANDOM=$((seed * 7919 + run))
  for ((sitting = 0; sitting < 60; ++sitting)); do
    if [ -f "$folder/config.json" ]; then
      "$(command_of "$case")" train --resume "$folder" --quiet >"$folder.log" 2>&1 &
    else
      rm -rf "$folder"
      # shellcheck disable=SC2046
      "$(command_of "$case")" train $(arguments_of "$case") --out "$folder" >"$folder.log" 2>&1 &
    fi
    local process=$!
    if [ $done -lt "$kills_per_run" ]; then
      sleep "$(awk -v r=$RANDOM -v ms="$milliseconds" -v kills="$kills_per_run" 'BEGIN { printf "%.4f", r / 32768 * 2 * ms / 1000 / (kills + 1) }')"
      kill -9 $process 2>/dev/null
    fi
    wait $process 2>/dev/null
    status=$?
    if [ $status -eq 137 ]; then
      done=$((done + 1))
      [ -f "$folder/config.json" ] || early=$((early + 1))
    elif [ $status -eq 0 ]; then
      break
    else
      echo "$done $early 1 0"
      echo "lost: run $run: $(arguments_of "$case"): status $status: $(head -1 "$folder.log")" >>"$work/faults"
      return
    fi
  done
  for file in history.jsonl history.csv diagnostics.jsonl; do
    [ -f "$work/whole-$case/$file" ] || continue
    differing=$((differing + $(cmp -l "$work/whole-$case/$file" "$folder/$file" 2>/dev/null | wc -l)))
    [ "$(stat -c %s "$work/whole-$case/$file")" = "$(stat -c %s "$folder/$file" 2>/dev/null)" ] || differing=$((differing + 1))
  done
  [ $differing -eq 0 ] || echo "different: run $run: $(arguments_of "$case"): $differing bytes" >>"$work/faults"
  [ -n "$KEEP" ] || rm -rf "$folder"
  echo "$done $early 0 $differing"
}
export KEEP=$keep
export -f arguments_of command_of whole killed
# Arrays cannot be exported; every child defines them again.
definitions="$(declare -p variants optimizers)"
export definitions

runs=$(((kills + kills_per_run - 1) / kills_per_run))
IFS=, read -ra list <<<"$devices"
cases=$((${#optimizers[@]} * ${#variants[@]} * ${#list[@]}))
[ $cases -le $runs ] || cases=$runs
# Whole runs of some seconds come first: a third of the time at most.
[ -z "$seconds" ] || { runs=1000000; [ $cases -le $((seconds * jobs / 6 + 1)) ] || cases=$((seconds * jobs / 6 + 1)); }
echo "$cases kinds of runs, up to $kills_per_run kills each, $jobs side by side"
seq 0 $((cases - 1)) | xargs -P "$jobs" -I{} bash -c 'eval "$definitions"; whole {}'
cat "$work"/whole-*.refused 2>/dev/null | sort | uniq -c
mapfile -t usable < <(ls "$work"/whole-*.ms 2>/dev/null | sed -E 's@.*/whole-([0-9]+)\.ms@\1@' | sort -n)
[ ${#usable[@]} -gt 0 ] || { echo "no run could be started"; exit 1; }
# A run may end before its fifth kill: rounds go on until there have been enough.
: >"$work/results"
first=0 happened=0
while [ $first -lt $((20 * runs)) ]; do
  if [ -n "$seconds" ]; then [ $SECONDS -lt "$seconds" ] || break; else [ "$happened" -lt "$kills" ] || break; fi
  [ -n "$seconds" ] && missing=$((4 * jobs)) || missing=$(((kills - happened + kills_per_run - 1) / kills_per_run))
  for ((run = first; run < first + missing; ++run)); do echo "$run ${usable[run % ${#usable[@]}]}"; done |
    xargs -P "$jobs" -L 1 bash -c 'eval "$definitions"; killed "$@"' killed >>"$work/results"
  first=$((first + missing))
  happened=$(awk '{ kills += $1 } END { print kills + 0 }' "$work/results")
done
cat "$work/faults" 2>/dev/null
awk '{ kills += $1; early += $2; lost += $3; bytes += $4 }
     END { printf "kills: %d cases, 0 crashes, 0 hangs, %d silent errors (%d runs, %d kills before anything was written, %d runs lost, %d differing bytes of history)\n",
             kills, lost + (bytes > 0), NR, early, lost, bytes
           exit lost > 0 || bytes > 0 }' "$work/results"
