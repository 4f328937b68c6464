#!/usr/bin/env bash
# docs/burgers.svg, the picture of the README: the runs of the demo, or of the folder given.
#   scripts/picture.sh [RUNS]
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-$(ls -d runs/demo-* 2>/dev/null | tail -1)}
[ -n "$runs" ] || { echo "no runs: make demo first, or name a folder made by lather compare" >&2; exit 1; }
build/release/bin/lather report "$runs" --figure docs/burgers.svg
