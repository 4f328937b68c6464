#!/usr/bin/env bash
# Runs the lather commands of the README as they stand there, on its own problem file, with the build given as $1. `make demo`
# and `make test`, which build everything anew, are run by people and by .ci/run.
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
[ "$count" -ge 3 ] || { echo "found only $count commands in the README"; exit 1; }
