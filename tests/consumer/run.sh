#!/usr/bin/env bash
# Installs the build given as $1 into a temporary folder, then configures, builds and runs a project that uses the package.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work/installed" >/dev/null
mkdir "$work/project"
cp "$here/CMakeLists.txt" "$work/project/"
cp "$here/../../examples/train.cpp" "$work/project/main.cpp"
cmake -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_BUILD_TYPE=Release ${2:+-DCMAKE_CXX_FLAGS=-isystem\ $2} >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/consumer" | tee "$work/out"
awk '/^loss/ { exit !($2 < 1e-5) }' "$work/out"
