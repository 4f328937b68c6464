#!/usr/bin/env bash
# Builds Lather in every way we promise to support, runs the fast tests of each build and prints one table. Build folders are
# build/matrix-<row>; each holds matrix-build.log and matrix-test.log.
#
#   scripts/test-matrix.sh [options] [ROW…]      default: all rows
#     -j N              jobs for building and testing (default: all cores)
#     --programs LIST   only these test programs, separated by commas, for example test_core,test_linalg
#     --list            the rows and their flags
#
# A row whose compiler or instruction set is missing says "not available"; it does not count as a failure. With ccache the
# build seconds of a second run mean little (CCACHE_DISABLE=1 turns it off). Where packages are missing, .staged is used
# (scripts/stage-headers.sh).
set -uo pipefail
cd "$(dirname "$0")/.."

# name | compiler | instruction sets /proc/cpuinfo must list | CMake options
rows=(
  "native|c++||-DLATHER_BENCH=ON"
  "portable|c++||-DLATHER_NATIVE=OFF"
  "x86-64-v3|c++|avx2 fma bmi2|-DLATHER_NATIVE=OFF -DCMAKE_CXX_FLAGS=-march=x86-64-v3"
  "no-contraction|c++||-DCMAKE_CXX_FLAGS=-ffp-contract=off"
  "znver3-avx512|c++|avx512f avx512dq avx512vl avx512bw|-DLATHER_NATIVE=OFF -DCMAKE_CXX_FLAGS=-march=znver3 -mtune=znver3 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mprefer-vector-width=512"
)
# Every clang from version 14 on; one row says so if there is none.
clangs=$(for path in $(compgen -c clang++ | grep -E '^clang\+\+(-[0-9]+)?$' | sort -uV); do
  echo "$("$path" -dumpversion | cut -d. -f1) $path"; done | sort -snu -k1,1 | awk '$1 >= 14')
[ -n "$clangs" ] || rows+=("clang|clang++||")
while read -r version path; do
  [ -n "$version" ] && rows+=("clang-$version|$path||")
done <<<"$clangs"
rows+=(
  "debug|c++||-DCMAKE_BUILD_TYPE=RelWithDebInfo -DLATHER_WERROR=ON -DLATHER_SANITIZE=ON -DLATHER_UNITY=OFF"
  "threads|c++||-DCMAKE_BUILD_TYPE=RelWithDebInfo -DLATHER_SANITIZE_THREADS=ON"
)
# ThreadSanitizer watches what runs on threads: the thread team and everything that hands it work.
thread_programs=test_core,test_linalg,test_optim,test_pde,test_reference,test_train

jobs=$(nproc) programs="" chosen=()
while [ $# -gt 0 ]; do
  case $1 in
    -j) jobs=$2; shift ;;
    -j*) jobs=${1#-j} ;;
    --programs) programs=$2; shift ;;
    --list) printf '%s\n' "${rows[@]}" | awk -F'|' '{printf "%-16s %-12s %s\n", $1, $2, $4}'; exit 0 ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "unknown option $1 (see --help)" >&2; exit 2 ;;
    *) chosen+=("$1") ;;
  esac
  shift
done
for name in "${chosen[@]}"; do
  printf '%s\n' "${rows[@]}" | grep -q "^$name|" || { echo "unknown row $name (see --list)" >&2; exit 2; }
done

# ThreadSanitizer in older compilers refuses highly randomized memory layouts.
fixed_addresses() { if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi; }

missing() {  # COMPILER INSTRUCTION_SETS: what the machine lacks, or nothing
  command -v "$1" >/dev/null || { echo "no $1"; return; }
  for set in $2; do grep -qwm1 "$set" /proc/cpuinfo || { echo "no $set"; return; }; done
}

table=build/matrix-table.txt
mkdir -p build
line() { printf '%-16s %-14s %-7s %-9s %-8s %-8s %s\n' "$@" | tee -a "$table"; }
: >"$table"
line row compiler tests failures build_s test_s flags
failed=0

run_row() {
  local name=$1 compiler=$2 sets=$3 options=$4 folder=build/matrix-$1 only=$programs
  local lacking; lacking=$(missing "$compiler" "$sets")
  if [ -n "$lacking" ]; then line "$name" "$compiler" - - - - "not available: $lacking"; return; fi
  local version; version="$(basename "$compiler") $("$compiler" -dumpfullversion 2>/dev/null || "$compiler" -dumpversion)"
  # The options are separated by " -D"; the flags inside one are separated by spaces.
  local arguments=() flags="-march=native $options"
  case $options in *LATHER_NATIVE=OFF*) flags=${options/-DLATHER_NATIVE=OFF/} ;; esac
  flags=$(sed -E 's/-DCMAKE_CXX_FLAGS=//; s/-DCMAKE_BUILD_TYPE=//; s/-DLATHER_//g; s/^ +//' <<<"$flags")
  [ -n "$options" ] && mapfile -t arguments < <(sed 's/ -D/\n-D/g' <<<"$options")
  [ "$name" = threads ] && only=${only:-$thread_programs}
  local generator=(); command -v ninja >/dev/null && generator=(-G Ninja)
  mkdir -p "$folder"
  local start=$SECONDS targets=()
  [ -n "$only" ] && targets=(--target lather_command ${only//,/ })  # some programs run the command
  if ! { cmake -S . -B "$folder" "${generator[@]}" -DCMAKE_CXX_COMPILER="$compiler" "${arguments[@]}" &&
         fixed_addresses cmake --build "$folder" -j "$jobs" "${targets[@]}"; } >"$folder/matrix-build.log" 2>&1; then
    line "$name" "$version" - build $((SECONDS - start)) - "$flags"
    echo "  $folder/matrix-build.log: $(grep -m1 -E 'error|Error' "$folder/matrix-build.log")" | tee -a "$table"
    failed=1; return
  fi
  local built=$((SECONDS - start)) chosen_tests=(-LE "slow|gpu") summary
  [ -n "$only" ] && chosen_tests=(-L fast -E '^(cuda_emulated|Package\.|Documentation\.|Python\.|Hostile\.)')
  start=$SECONDS
  TSAN_OPTIONS=halt_on_error=1 fixed_addresses ctest --test-dir "$folder" "${chosen_tests[@]}" -j "$jobs" --output-on-failure >"$folder/matrix-test.log" 2>&1
  local status=$?
  # "99% tests passed, 2 tests failed out of 1310"; newer versions leave the zero out: "100% tests passed out of 1310".
  summary=$(grep -E "tests passed.* out of [0-9]+" "$folder/matrix-test.log" | sed -E 's/passed out of/passed, 0 tests failed out of/')
  local count failures
  count=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$summary") failures=$(sed -E 's/.* ([0-9]+) tests failed.*/\1/' <<<"$summary")
  line "$name" "$version" "${count:-none}" "${failures:-?}" "$built" $((SECONDS - start)) "$flags"
  if [ $status -ne 0 ] || [ -z "$count" ]; then
    failed=1
    sed -n '/The following tests FAILED/,$p' "$folder/matrix-test.log" | grep -E '^\s+[0-9]+ - ' | head -20 | tee -a "$table"
  fi
}

for row in "${rows[@]}"; do
  IFS='|' read -r name compiler sets options <<<"$row"
  [ ${#chosen[@]} -gt 0 ] && ! printf '%s\n' "${chosen[@]}" | grep -qx -- "$name" && continue
  run_row "$name" "$compiler" "$sets" "$options"
done
exit $failed
