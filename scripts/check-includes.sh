#!/usr/bin/env bash
# Includes point one way: a file in lather/<folder> may include only its own folder and those before it in this list.
set -euo pipefail
cd "$(dirname "$0")/.."
order=(core parallel linalg symbolic geometry optim net pde local reference train report watch batch capi)

position() {
  for i in "${!order[@]}"; do [ "${order[$i]}" = "$1" ] && { echo "$i"; return; }; done
  echo -1
}

faults=0
while IFS=: read -r file line text; do
  folder=$(cut -d/ -f2 <<<"$file")
  [[ $file == lather/*/* ]] || continue  # lather/lather.hpp, the one header that includes everything
  included=$(sed -E 's@.*"lather/([a-z]+)/.*@\1@' <<<"$text")
  if [ "$(position "$included")" -lt 0 ] || [ "$(position "$included")" -gt "$(position "$folder")" ]; then
    echo "$file:$line: lather/$folder must not include lather/$included"
    faults=1
  fi
done < <(grep -rnE '^\s*#include "lather/[a-z]+/' lather)

# Files are opened in one place, which knows links, FIFOs and devices, and the command prints in one, which knows escape
# sequences. What the system itself offers under /proc and /dev is read as it is.
tmp=$(mktemp)
report() { while IFS= read -r place; do echo "$place: $1"; faults=1; done; }
grep -rnE '[^A-Za-z]::open\(|openat\(|fopen\(|mkstemp|std::[io]?fstream' lather apps --include=*.cpp --include=*.hpp |
  grep -vE '^lather/core/(files|cache_folder|memory)\.cpp|^lather/train/run_folder/environment\.cpp|"/(proc|dev|sys)/' >"$tmp" || true
report "files are opened by lather/core/files.hpp" <"$tmp"
grep -rnE '\b(fmt::print|printf|puts|fputs|fwrite)\(|std::(cout|cerr)' apps lather --include=*.cpp --include=*.hpp |
  grep -vE '^apps/lather/terminal\.cpp|^[^:]*:[0-9]+: *//' >"$tmp" || true
report "the command prints by apps/lather/terminal.hpp, the library not at all" <"$tmp"
rm "$tmp"
[ $faults -eq 0 ] && echo "includes go one way, files are opened and lines printed in one place"
exit $faults
