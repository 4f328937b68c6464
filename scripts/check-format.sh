#!/usr/bin/env bash
# Every C++ and CUDA file is formatted as .clang-format says, by clang-format 14 (other versions differ in details).
#   scripts/check-format.sh          names the files that are not, and fails
#   scripts/check-format.sh --fix    formats them
set -euo pipefail
cd "$(dirname "$0")/.."
tool=""
for name in clang-format-14 clang-format; do
  command -v "$name" >/dev/null && "$name" --version | grep -q "version 14\." && { tool=$name; break; }
done
[ -n "$tool" ] || { echo "format not checked: clang-format 14 is missing (Debian: apt-get install clang-format-14)"; exit 0; }

mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.cc' '*.cu' '*.cuh' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
if [ "${1:-}" = --fix ]; then
  "$tool" -i "${files[@]}"
  exit
fi
faults=$(printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 40 "$tool" --dry-run 2>&1 | sed -nE 's/^([^: ]+):[0-9]+:[0-9]+: warning: code should be clang-formatted.*/\1/p' | sort -u)
if [ -n "$faults" ]; then
  printf 'not formatted (scripts/check-format.sh --fix):\n%s\n' "$faults"
  exit 1
fi
echo "${#files[@]} files are formatted"
