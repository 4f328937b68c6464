#!/usr/bin/env bash
# Includes point one way: a file in lather/<folder> may include only its own folder and those before it in this list.
set -euo pipefail
cd "$(dirname "$0")/.."
order=(core parallel linalg symbolic geometry optim net pde reference train report watch experiment capi)

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
[ $faults -eq 0 ] && echo "includes go one way"
exit $faults
