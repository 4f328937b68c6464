#!/usr/bin/env bash
# Fuzzes everything that is read from disk with libFuzzer: problem files (with --set), config.json, checkpoints, CSV files, the
# cache of references, recorded trajectories. Faults are left in build/fuzz.
#   tests/hostile/readers.sh [--seconds S] [--seed N] [TARGET…]   S in all (default: 600) for the targets
#                                          problem config checkpoint csv npz mesh cache replay (default: all)
#   tests/hostile/readers.sh merge         what was found, made small, becomes tests/fuzz/corpus, which the tests replay
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=600 seed=$(($(date +%s) / 86400)) merge=0 targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2; shift ;;
    --seed) seed=$2; shift ;;
    merge) merge=1 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
[ ${#targets[@]} -gt 0 ] || targets=(problem config checkpoint csv npz mesh cache replay)
declare -A program=([problem]=problem_file_fuzz [config]=config_fuzz [checkpoint]=checkpoint_fuzz [csv]=csv_fuzz
  [npz]=npz_fuzz [mesh]=mesh_fuzz [cache]=reference_cache_fuzz [replay]=replay_fuzz)
declare -A longest=([problem]=4000 [config]=6000 [checkpoint]=2000 [csv]=2000 [npz]=2000 [mesh]=4000 [cache]=2000 [replay]=20000)
for target in "${targets[@]}"; do [ -n "${program[$target]:-}" ] || { echo "unknown target $target" >&2; exit 2; }; done
[ -f build/release/lather/liblather.a ] || { echo "needs the release build: cmake --preset release && cmake --build --preset release" >&2; exit 1; }
cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER="${CXX:-clang++}" -DCMAKE_BUILD_TYPE=Fuzz -DCMAKE_CXX_FLAGS="-O1 -gline-tables-only" -DLATHER_FUZZ=ON \
  -DLATHER_SANITIZE=ON -DLATHER_NATIVE=OFF -DLATHER_TESTS=OFF >build/fuzz-configure.log
cmake --build build/fuzz --target $(for target in "${targets[@]}"; do echo "${program[$target]}"; done)

seeds() {  # files a person might write, and those known to be broken
  mkdir -p build/fuzz/seeds/{problem,config,checkpoint,csv,npz,mesh,cache,replay}
  cp problems/*.toml tests/pde/broken/*.toml build/fuzz/seeds/problem/
  cp tests/fuzz/seed-config.json build/fuzz/seeds/config/
  cp problems/data/*.csv build/fuzz/seeds/csv/
  printf '\xef\xbb\xbf# x,t,u\n1,2,3\n"4",nan,-inf\n' >build/fuzz/seeds/csv/numpy.csv
  head -c 3900 problems/data/bean.stl >build/fuzz/seeds/mesh/cut.stl
  printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n' >build/fuzz/seeds/mesh/body.obj
  printf 'solid a\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n' >build/fuzz/seeds/mesh/open.stl
  /usr/bin/python3 -c "import numpy; numpy.savez('build/fuzz/seeds/npz/two.npz', x=numpy.arange(3.0), k=numpy.ones((3, 2), 'f4'))" 2>/dev/null || true
  printf "PK\x05\x06\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }" >build/fuzz/seeds/npz/words
  cp tests/golden/{adam,lbfgs_quadratic,ss_broyden1}.json build/fuzz/seeds/replay/
  # 'S' and a state of the names the targets ask for, as core/state.cpp writes it: found by the fuzzer from these words.
  for kind in checkpoint cache; do printf 'Sreal integer list fixed' >build/fuzz/seeds/$kind/names; printf 'LATHERCK' >build/fuzz/seeds/$kind/magic; done
}

fuzz() {  # TARGET CORPUS LONGEST
  local found=build/fuzz/found/$2 kept=tests/fuzz/corpus/$2 status=0
  mkdir -p "$found" "$kept"
  build/fuzz/bin/"$1" -max_len="$3" -timeout=10 -rss_limit_mb=2048 $([ -f "tests/fuzz/$2.dict" ] && echo "-dict=tests/fuzz/$2.dict") -artifact_prefix="build/fuzz/$2-" \
    -seed="$seed" -max_total_time=$((seconds / ${#targets[@]} + 1)) -print_final_stats=1 "$found" "$kept" build/fuzz/seeds/"$2" >"build/fuzz/$2.log" 2>&1 || status=$?
  echo "$1: status $status (build/fuzz/$2.log)"
  grep -aE "ERROR|runtime error|what\(\)|number_of_executed_units|peak_rss|slowest_unit|Test unit written" "build/fuzz/$2.log" || true
  return $status
}

smaller() {  # TARGET CORPUS FILES: the shortest files that still cover what all do, as many as are asked for
  local kept=tests/fuzz/corpus/$2 merged=build/fuzz/merged/$2
  rm -rf "$merged"
  mkdir -p "$merged"
  build/fuzz/bin/"$1" -merge=1 -max_len=2000 -timeout=10 "$merged" "$kept" build/fuzz/found/"$2" build/fuzz/seeds/"$2" >build/fuzz/merge.log 2>&1
  find "$kept" -type f ! -name 'fault-*' -delete
  # Largest first: a file that reaches a lot is worth more than one that reaches a single branch.
  ls -S "$merged" | awk -v most="$3" '{name[NR]=$0} END {every = NR > most ? NR / most : 1; for (i = 1; i <= NR; i += every) print name[int(i)]}' |
    while read -r name; do cp "$merged/$name" "$kept/${name:0:10}"; done
  ls build/fuzz/"$2"-* 2>/dev/null | grep -v '\.log$' | while read -r fault; do cp "$fault" "$kept/fault-$(md5sum <"$fault" | cut -c1-6)"; done || true
  echo "$kept: $(ls "$kept" | wc -l) files, $(du -sb "$kept" | cut -f1) bytes"
}

seeds
if [ $merge = 1 ]; then
  smaller problem_file_fuzz problem 40
  smaller config_fuzz config 20
else
  status=0 cases=0 crashes=0
  for target in "${targets[@]}"; do
    fuzz "${program[$target]}" "$target" "${longest[$target]}" || { status=1 crashes=$((crashes + 1)); }
    cases=$((cases + $(sed -nE 's/^stat::number_of_executed_units: *//p' "build/fuzz/$target.log" | tail -1)))
  done
  echo "readers: $cases cases, $crashes crashes, 0 hangs, 0 silent errors"
  exit $status
fi
