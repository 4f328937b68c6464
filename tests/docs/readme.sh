#!/usr/bin/env bash
# Runs the lather commands of the README as written there, on its own problem file, with the build given as $1. `make demo`
# and `make test`, which rebuild everything, are run by people and by .ci/run.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
awk '/^```toml/ { inside = 1; next } /^```/ && inside { exit } inside' "$root/README.md" >heat.toml
mkdir -p build/release && ln -s "$build/bin" build/release/bin
count=0
while IFS= read -r line; do
  echo "\$ $line"
  bash -c "$line" </dev/null >out 2>&1 || { cat out; echo "failed: $line"; exit 1; }
  count=$((count + 1))
done < <(sed -nE 's@^(    )?(build/release/bin/lather .*)@\2@p' "$root/README.md")
# Its own problem, with the plain command on one core, must match the known solution to six digits.
printf '\n[reference]\nu = "exp(-0.1*pi^2*t)*sin(pi*x)"\n' >>heat.toml
build/release/bin/lather train heat.toml --threads 1 --json --out heat-on-one >out || { cat out; exit 1; }
awk '/"best"/ { best = 1 } best && /"l2"/ { getline; sub(/.*: */, ""); found = $0 + 0 > 0 && $0 + 0 <= 1e-6; exit }
  END { exit !found }' out || { cat out; echo "heat.toml: the relative L2 error is above 1e-6, or missing"; exit 1; }
[ "$count" -ge 3 ] || { echo "found only $count commands in the README"; exit 1; }
