#!/usr/bin/env bash
# clang-tidy 14 with the checks of .clang-tidy over the library and the command. Several source files are read at a time, as
# in a unity build: about five times as fast as one by one.
#   scripts/check-tidy.sh [REGEX]      only compiled files whose path matches (default: lather/ and apps/)
set -euo pipefail
cd "$(dirname "$0")/.."
tool=""
for name in clang-tidy-14 clang-tidy; do
  command -v "$name" >/dev/null && "$name" --version | grep -q "version 14\." && { tool=$name; break; }
done
compiler=$(command -v clang++-14 || command -v clang++ || true)
[ -n "$tool" ] && [ -n "$compiler" ] || { echo "clang-tidy not run: clang-tidy 14 or clang++ is missing (Debian: apt-get install clang-tidy-14 clang-14)"; exit 0; }

log=build/tidy/tidy.log
mkdir -p build/tidy
cmake -S . -B build/tidy -DCMAKE_CXX_COMPILER="$compiler" -DLATHER_TESTS=OFF >build/tidy/configure.log
# Sources that the build generates (embedded kernels and pages) are not checked, but others may include them.
cmake --build build/tidy --target help | sed -nE 's/^\.\.\. ([a-z_]*generated[a-z_]*)$/\1/p' | xargs -r -n1 cmake --build build/tidy --target >/dev/null
# In a unity build the source files are headers of the file that is compiled: HeaderFilterRegex of .clang-tidy lets them in.
status=0
sed -nE 's/^ *"file": "(.*)",?$/\1/p' build/tidy/compile_commands.json | grep -E "${1:-/(lather|apps)/}" | grep -vE "/build/tidy/lather/[a-z_]+\.cpp$" | sort -u |
  xargs -P "$(nproc)" -n 1 "$tool" -p build/tidy --quiet >"$log" 2>&1 || status=1
if [ $status -ne 0 ] || grep -qE "(warning|error): " "$log"; then
  grep -E "(warning|error): " "$log" | sed "s@^$PWD/@@" | sort -u
  exit 1
fi
echo "clang-tidy finds nothing"
