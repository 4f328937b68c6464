#!/usr/bin/env bash
# Hostile input for as long as you like: every campaign of tests/hostile (README.md there), one table at the end. `make test` runs
# a minute of them; this is the night's run.
#
#   scripts/hostile.sh [options] [CAMPAIGN…]     default: all campaigns
#     --minutes N      in all, shared equally (default: 480)
#     --seed N         of all draws (default: the number of the day)
#     --list           the campaigns
#
# Calls, commands and Python run on a build with AddressSanitizer and UndefinedBehaviorSanitizer (build/hostile), file readers under
# libFuzzer (clang; build/fuzz), kills and faults on the release build. Logs with findings: build/hostile/NAME.log.
set -uo pipefail
cd "$(dirname "$0")/.."
minutes=480 seed=$(($(date +%s) / 86400)) chosen=()
python=python3; "$python" -c "import numpy" 2>/dev/null || python=/usr/bin/python3
# name | program, which gets --seconds and --seed | build
campaigns=(
  "calls|build/hostile/bin/hostile_calls --jobs $(nproc)|sanitized"
  "command-line|$python tests/hostile/command_line.py|sanitized"
  "run-folders|$python tests/hostile/run_folders.py|sanitized"
  "watch|$python tests/hostile/watch.py|sanitized"
  "python|$python tests/hostile/python_arguments.py|python"
  "readers|tests/hostile/readers.sh|release"
  "kills|tests/hostile/kills.sh|release"
  "faults|tests/hostile/faults.sh|release"
  "interrupts|$python tests/hostile/interrupts.py|release"
)
while [ $# -gt 0 ]; do
  case $1 in
    --minutes) minutes=$2; shift ;;
    --seed) seed=$2; shift ;;
    --list) printf '%s\n' "${campaigns[@]}" | cut -d'|' -f1; exit 0 ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "unknown option $1 (see --help)" >&2; exit 2 ;;
    *) chosen+=("$1") ;;
  esac
  shift
done
for name in "${chosen[@]}"; do
  printf '%s\n' "${campaigns[@]}" | grep -q "^$name|" || { echo "unknown campaign $name (see --list)" >&2; exit 2; }
done
wanted() { [ ${#chosen[@]} -eq 0 ] || printf '%s\n' "${chosen[@]}" | grep -qx -- "$1"; }
count=0 sanitized=0
for campaign in "${campaigns[@]}"; do
  wanted "${campaign%%|*}" || continue
  count=$((count + 1))
  [ "${campaign##*|}" = release ] || sanitized=1
done

mkdir -p build/hostile
if [ $sanitized = 1 ]; then
  { cmake -S . -B build/hostile -G Ninja -DCMAKE_BUILD_TYPE=Hostile -DCMAKE_CXX_FLAGS="-O1 -g1" -DLATHER_SANITIZE=ON &&
    cmake --build build/hostile --target lather_command lather_shared hostile_calls; } >build/hostile/build.log 2>&1 ||
    { echo "the build failed: build/hostile/build.log" >&2; exit 1; }
fi
[ -x build/release/bin/lather ] || { echo "needs the release build: cmake --preset release && cmake --build --preset release" >&2; exit 1; }
seconds=$((minutes * 60 / count)) failed=0 rows=()
for campaign in "${campaigns[@]}"; do
  IFS='|' read -r name program build <<<"$campaign"
  wanted "$name" || continue
  log=build/hostile/$name.log
  (
    # shellcheck source=tests/hostile/sanitized.sh
    [ "$build" = release ] || . tests/hostile/sanitized.sh build/hostile "$build"
    # shellcheck disable=SC2086
    exec $program --seconds "$seconds" --seed "$seed"
  ) >"$log" 2>&1 || failed=1
  row=$(grep -aE '^[a-z -]+: [0-9]+ cases' "$log" | tail -1)
  echo "${row:-$name: no result: $(tail -1 "$log")}"
  rows+=("$(sed -nE 's/^([^:]*): ([0-9]+) cases, ([0-9]+) crashes, ([0-9]+) hangs, ([0-9]+) silent errors.*/| \1 | \2 | \3 | \4 | \5 |/p' <<<"$row")")
done
printf '\n| campaign | cases | crashes | hangs | silent errors |\n|---|---|---|---|---|\n'
printf '%s\n' "${rows[@]}"
[ $failed = 0 ] || echo "findings, and how to repeat them: build/hostile/*.log"
exit $failed
