#!/usr/bin/env bash
# Installs the build given as $1 into a temporary folder, then configures, builds and runs a project that uses the package: the
# programs of examples/ and every C and C++ snippet of the README and the docs. $2: a folder of headers, if they are not installed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work/installed" >/dev/null
mkdir "$work/project" "$work/here"
cp "$root/tests/consumer/CMakeLists.txt" "$root"/examples/*.cpp "$root"/examples/*.c "$work/project/"

# A snippet without main(): its includes and using directives stay outside, the rest becomes the body.
for page in "$root/README.md" "$root"/docs/*.md; do
  awk -v stem="$work/project/snippet_$(basename "$page" .md | tr -c 'a-zA-Z0-9\n' _)" '
    function finish(   body, head, i) {
      file = stem "_" ++count ".cpp"
      if (whole) { for (i = 1; i <= n; ++i) print line[i] > file }
      else {
        for (i = 1; i <= n; ++i) if (line[i] ~ /^(#include|using )/) print line[i] > file
        print "int main() {" > file
        for (i = 1; i <= n; ++i) if (line[i] !~ /^(#include|using )/) print line[i] > file
        print "}" > file
      }
      close(file)
    }
    /^```cpp/ { inside = 1; n = whole = 0; next }
    /^```/ && inside { inside = 0; finish(); next }
    inside { line[++n] = $0; if ($0 ~ /int main\(/) whole = 1 }' "$page"
done
# Snippets in C are whole programs.
awk -v stem="$work/project/snippet_" '/^```c$/ { inside = 1; count++; file = stem count ".c"; next } /^```/ { inside = 0 } inside { print > file }' "$root"/docs/*.md
# The README's own PDE, which its C++ snippet reads.
awk '/^```toml/ { inside = 1; next } /^```/ && inside { exit } inside' "$root/README.md" >"$work/here/heat.toml"

cmake -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_BUILD_TYPE=Release ${2:+-DCMAKE_CXX_FLAGS=-isystem\ $2} >/dev/null
cmake --build "$work/build" -j 2 >"$work/build.log" 2>&1 || { grep -E "error" -A5 "$work/build.log" || tail -20 "$work/build.log"; exit 1; }
# For a library built with a sanitizer: its runtime must come first, and a C program does not link it itself.
runtime=$(find "$work/installed" -name 'liblather.so*' -exec ldd {} + | awk '/lib[at]san/ { print $3; exit }')
cd "$work/here"
for source in "$work"/project/*.cpp "$work"/project/*.c; do
  name=$(basename "$source" .cpp)
  [[ $source == *.c ]] && name=$(basename "$source" .c)_in_c
  echo "== $name"
  preload=
  [[ $source == *.c ]] && preload=$runtime
  LD_PRELOAD=$preload "$work/build/$name" || { echo "$name failed with status $?"; exit 1; }
done | tee "$work/out"
awk '$1 == "==" { name = $2 } name == "train" && /^loss/ { found = 1; if (!($2 < 1e-5)) exit 1 } END { if (!found) exit 1 }' "$work/out"
[ -s runs/oscillator/report.html ] || { echo "examples/run_folder.cpp wrote no report"; exit 1; }
