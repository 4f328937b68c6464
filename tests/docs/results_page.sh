#!/usr/bin/env bash
# scripts/results-table.sh --page replaces the tables of docs/results.md and leaves the prose around them.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{scripts,docs,runs/results-a,runs/results-b}
cp "$root/scripts/results-table.sh" "$work/scripts"
printf '%s\n' before '<!-- table a -->' 'old row' '<!-- end table -->' between '<!-- table c -->' 'kept row' '<!-- end table -->' after >"$work/docs/results.md"
echo 'row of a' >"$work/runs/results-a/table.md"
echo 'row of b' >"$work/runs/results-b/table.md"
wanted=$(printf '%s\n' before '<!-- table a -->' 'row of a' '<!-- end table -->' between '<!-- table c -->' 'kept row' '<!-- end table -->' after \
  '' '## b' '' '<!-- table b -->' 'row of b' '<!-- end table -->')
for time in first second; do
  bash "$work/scripts/results-table.sh" --page
  diff <(echo "$wanted") "$work/docs/results.md" || { echo "not as wanted the $time time"; exit 1; }
done
printf '%s\n' '<!-- table a -->' prose >"$work/docs/results.md"
if bash "$work/scripts/results-table.sh" --page 2>/dev/null; then echo "a table without an end was replaced"; exit 1; fi
diff <(printf '%s\n' '<!-- table a -->' prose) "$work/docs/results.md"
