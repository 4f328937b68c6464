#!/usr/bin/env bash
# Checks that what the README and docs point to exists: files behind links, headings behind anchors, source files named in code
# style. Table rows must have as many cells as the header, every optimizer a section of the same shape in docs/optimizers.md.
set -euo pipefail
cd "$(dirname "$0")/.."
faults=0
fault() { echo "$1"; faults=1; }

anchors() { grep -E '^#+ ' "$1" | sed -E 's/^#+ //' | tr '[:upper:]' '[:lower:]' | sed -E 's/[^[:alnum:] _-]//g; s/ /-/g'; }
pages=(README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs/*.md lab/README.md lab/docs/*.md)
for page in "${pages[@]}"; do
  folder=$(dirname "$page")
  while IFS= read -r link; do
    case $link in http*:* | mailto:* | "") continue ;; esac
    file=${link%%#*} anchor=""
    case $link in *#*) anchor=${link#*#} ;; esac
    target=$page
    [ -n "$file" ] && target=$folder/$file
    [ -e "$target" ] || { fault "$page: no file $link"; continue; }
    [ -z "$anchor" ] || anchors "$target" | grep -qxF -- "$anchor" || fault "$page: no heading #$anchor in $target"
  done < <(grep -oE '\]\([^) ]+\)' "$page" | sed -E 's/^\]\(//; s/\)$//')
  while IFS= read -r path; do
    found=0
    for root in . lather lather/optim; do compgen -G "$root/$path" >/dev/null && { found=1; break; }; done
    [ $found = 1 ] || fault "$page: no file $path"
  done < <(grep -oE '`([a-z_0-9-]+/)+[a-z_0-9*]+\.(cpp|hpp|cuh|cu|sh|toml|py|\*)`' "$page" | tr -d '`' | grep -vE '^(runs|build)/' | sort -u)
done

# A bar inside a cell is written \|, even in code style: Markdown renderers would split there otherwise.
ragged=$(awk -F'|' '
  { gsub(/\\\|/, "") }
  !/^\|/ { head = 0; next }
  !head { head = NF }
  NF != head { print FILENAME ":" FNR ": " NF - 2 " cells, the head of the table has " head - 2 }' "${pages[@]}")
[ -z "$ragged" ] || fault "$ragged"

grep '^## ' docs/optimizer-options.md | sed 's/^## //' | grep -E '^[a-z-]+$' | while read -r name; do
  shape=$(awk -v name="### $name" '$0 == name { inside = 1; next } /^##/ { inside = 0 } inside' docs/optimizers.md | grep -oE '^\*\*[A-Za-z ]+\.\*\*' | tr -d '*\n')
  [ "$shape" = "Idea.Update rule.Options.When to use.Reference.Example." ] || { echo "docs/optimizers.md: the section of $name has the headings '$shape'"; exit 1; }
done || faults=1
[ $faults -eq 0 ] && echo "links and paths of the docs hold"
exit $faults
