#!/usr/bin/env bash
# What surrounds a run goes wrong: full disk, read-only disk, deleted folder, clock set back, two processes, very long names.
# Every case must end in success or in one message and a status other than 0, never in a crash, and lose nothing that was saved.
#
#   tests/hostile/faults.sh [CASE…]     once each: full-disk read-only deleted-folder clock two-processes long-names
#   LATHER=… chooses another build of the command. Disks of their own need root (or user namespaces).
set -uo pipefail
cd "$(dirname "$0")/../.."
lather=$(realpath "${LATHER:-build/release/bin/lather}")
# Keep our mounts private.
if [ -z "${LATHER_OWN_MOUNTS:-}" ] && unshare -m true 2>/dev/null; then LATHER_OWN_MOUNTS=1 exec unshare -m "$0" "$@"; fi
work=$(mktemp -d)
trap 'umount "$work"/disk* 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
run=(train heat-1d --optimizer adam --threads 1 --quiet --set network.width=8 --set network.depth=2 --set training.points.interior=64
  --set training.reference=false --set training.checkpoint_every=20 --set training.record_every=1)
cases=0 crashes=0 faults=0
say() { printf '%-16s %s\n' "$1" "$2"; cases=$((cases + 1)); }
fault() { say "$1" "FAULT: $2"; case $2 in *"crashed with"*) crashes=$((crashes + 1)) ;; *) faults=$((faults + 1)) ;; esac; }
crashed() { [ "$1" -gt 125 ] && [ "$1" -ne 130 ] && [ "$1" -ne 143 ]; }
# NAME WHAT STATUS LOG: refused with a message
expect_refusal() {
  if [ "$3" -eq 0 ]; then fault "$1" "$2: accepted"
  elif crashed "$3"; then fault "$1" "$2: crashed with status $3"
  elif [ ! -s "$4" ]; then fault "$1" "$2: no message"
  else say "$1" "$2: $(tail -1 "$4" | cut -c1-150)"; fi
}

disk() {  # NAME SIZE: prints the folder, or nothing
  mkdir -p "$work/disk-$1" && mount -t tmpfs -o "size=$2" none "$work/disk-$1" 2>/dev/null && echo "$work/disk-$1"
}

full_disk() {
  local d status before; d=$(disk full 4m)
  [ -n "$d" ] || { say full-disk "not tried: cannot mount a disk of its own"; return; }
  dd if=/dev/zero of="$d/filler" bs=1k count=3700 >/dev/null 2>&1
  "$lather" "${run[@]}" --steps 1000000 --out "$d/run" >log 2>&1
  expect_refusal full-disk "disk fills up while training" $? log
  rm "$d/filler"
  before=$(ls "$d/run/checkpoints" | sed -nE 's/step-0*([0-9]+)\.checkpoint/\1/p' | sort -n | tail -1)
  [ -n "$before" ] || fault full-disk "no checkpoint is left"
  "$lather" train --resume "$d/run" --steps $((before + 40)) --quiet >log 2>&1 && say full-disk "resumed at step $before with room again" ||
    fault full-disk "cannot be resumed with room again: $(tail -1 log)"
  dd if=/dev/zero of="$d/filler" bs=1k >/dev/null 2>&1
  "$lather" "${run[@]}" --steps 10 --out "$d/other" >log 2>&1
  expect_refusal full-disk "disk is full from the start" $? log
}

read_only() {
  local d; d=$(disk sealed 4m)
  [ -n "$d" ] || { say read-only "not tried: cannot mount a disk of its own"; return; }
  "$lather" "${run[@]}" --steps 60 --out "$d/run" >log 2>&1 || fault read-only "could not train before sealing"
  mount -o remount,ro "$d"
  "$lather" train --resume "$d/run" --steps 120 --quiet >log 2>&1
  expect_refusal read-only "resume on a read-only disk" $? log
  "$lather" "${run[@]}" --steps 10 --out "$d/other" >log 2>&1
  expect_refusal read-only "a new run on a read-only disk" $? log
  "$lather" eval "$d/run" >log 2>&1 && say read-only "eval still reads the run" || fault read-only "eval cannot read a sealed run: $(head -1 log)"
}

deleted_folder() {
  local process status
  "$lather" "${run[@]}" --steps 100000000 --out gone >log 2>&1 &
  process=$!
  for _ in $(seq 200); do [ -n "$(ls gone/checkpoints 2>/dev/null)" ] && break; sleep 0.05; done
  until rm -rf gone 2>/dev/null && [ ! -d gone ]; do :; done
  sleep 1
  kill -INT $process 2>/dev/null
  wait $process
  status=$?
  if grep -v 'cannot be saved' log | grep -q saved && [ -z "$(ls gone/checkpoints 2>/dev/null)" ]; then fault deleted-folder "says it saved, and nothing is there: $(tail -1 log)"
  else expect_refusal deleted-folder "folder deleted while training" $status log; fi
}

clock() {
  command -v cc >/dev/null || { say clock "not tried: no C compiler"; return; }
  cat >back.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
// After the hundredth look the calendar is a year back. Clocks that never go back are left alone.
static long looks;
int clock_gettime(clockid_t which, struct timespec* t) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(which, t);
  if (which == CLOCK_REALTIME && ++looks > 100) t->tv_sec -= 31536000;
  return status;
}
time_t time(time_t* out) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (out) *out = t.tv_sec;
  return t.tv_sec;
}
int gettimeofday(struct timeval* t, void* zone) {
  struct timespec s;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &s);
  t->tv_sec = s.tv_sec;
  t->tv_usec = s.tv_nsec / 1000;
  return 0;
}
C
  cc -shared -fPIC -o back.so back.c -ldl
  for kind in plain back; do
    local shim=""
    [ $kind = back ] && shim=$PWD/back.so
    LD_PRELOAD=$shim "$lather" "${run[@]}" --steps 200 --out $kind >log 2>&1 || fault clock "$kind run failed: $(head -1 log)"
    LD_PRELOAD=$shim "$lather" train --resume $kind --steps 300 --quiet >log 2>&1 || fault clock "$kind resume failed: $(head -1 log)"
  done
  cmp -s plain/history.csv back/history.csv && say clock "a year back in the middle of a run and between two sessions: the same history" ||
    fault clock "another history"
}

two_processes() {
  local process
  "$lather" "${run[@]}" --steps 100000000 --out shared >log1 2>&1 &
  process=$!
  for _ in $(seq 200); do [ -f shared/config.json ] && break; sleep 0.05; done
  "$lather" train --resume shared --quiet >log 2>&1
  expect_refusal two-processes "a second process on the same run" $? log
  "$lather" "${run[@]}" --steps 10 --out shared >log 2>&1
  expect_refusal two-processes "a new run into the same folder" $? log
  kill -INT $process
  wait $process
  "$lather" eval shared >log 2>&1 && say two-processes "the first one is whole" || fault two-processes "the first one cannot be read"
  # Two at the same moment: exactly one begins.
  "$lather" "${run[@]}" --steps 50 --out race >r1 2>&1 & local a=$!
  "$lather" "${run[@]}" --steps 50 --out race >r2 2>&1 & local b=$!
  local winners=0
  wait $a && winners=$((winners + 1))
  wait $b && winners=$((winners + 1))
  [ $winners -eq 1 ] && say two-processes "two at the same moment: one begins" || fault two-processes "two at the same moment: $winners begin"
}

long_names() {
  local long; long=$(printf 'n%.0s' $(seq 4000))
  "$lather" "${run[@]}" --steps 5 --out "$long" >log 2>&1
  expect_refusal long-names "--out of 4,000 characters" $? log
  "$lather" train "$long" >log 2>&1
  expect_refusal long-names "a problem of 4,000 characters" $? log
  "$lather" train heat-1d --optimizer "$long" --out a >log 2>&1
  expect_refusal long-names "an optimizer of 4,000 characters" $? log
  "$lather" train heat-1d --set "$long=1" --out b >log 2>&1
  expect_refusal long-names "a setting of 4,000 characters" $? log
  "$lather" "--$long" >log 2>&1
  expect_refusal long-names "an option of 4,000 characters" $? log
  printf 'name = "%s"\ncoordinates = ["x"]\nfields = ["u"]\ndomain = {x = [0, 1]}\nequation = [{name = "%s", residual = "u_x - u"}]\ncondition = [{name = "start", where = "x = 0", residual = "u - 1"}]\n' \
    "$long" "$long" >long.toml
  "$lather" train long.toml --steps 5 --quiet --threads 1 >log 2>&1
  local status=$?
  if crashed $status; then fault long-names "names of 4,000 characters in a file: crashed with status $status"
  else say long-names "names of 4,000 characters in a file: status $status: $(tail -1 log | cut -c1-120)"; fi
}

chosen=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds | --seed) shift ;;  # nothing here is drawn
    *) chosen+=("$1") ;;
  esac
  shift
done
[ ${#chosen[@]} -gt 0 ] || chosen=(full-disk read-only deleted-folder clock two-processes long-names)
for name in "${chosen[@]}"; do
  declare -F "${name//-/_}" >/dev/null || { echo "unknown case $name (see the top of this script)" >&2; exit 2; }
  "${name//-/_}"
done
echo "faults: $cases cases, $crashes crashes, 0 hangs, $faults silent errors"
exit $((crashes + faults > 0))
