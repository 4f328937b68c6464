#!/usr/bin/env bash
# Runs every `lather …` command in the docs, shortened: one step, one seed, no GPU. Commands with placeholders (RUN, FILE,
# …) are left out. $1: the build.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$root"/{tests,problems,examples,bench} .
mkdir docs
ln -s "$build/bin/lather" lather
PATH=$work:$PATH

# Lines of code blocks (continued by \) and code inside sentences.
commands() {
  cat "$root"/docs/*.md | awk '{ while (sub(/\\$/, "")) { if ((getline more) <= 0) break; $0 = $0 more } print }' | {
    tee >(sed -nE 's@^(    |\$ )?(build/release/bin/)?(lather .*)@\3@p' >blocks) | grep -oE '`lather [^`]+`' | tr -d '`' >inline
  }
  sleep 0.2
  sed -E 's/ +#.*//' blocks inline | grep -vE '…|\[|\bRUN\b|\bPROBLEM\b|\bDIR\b|\bFILE\b|\bNAME\b|\bPATH\b|\bSIZE\b|\bPOINTS\b|\|' | sort -u
}

shorten() {  # COMMAND NUMBER
  local text=$1
  text=$(sed -E 's/--device cuda//; s/--reduction nccl(-sum)?//; s/--seed S\b/--seed 1/' <<<"$text")
  case $text in
    "lather doctor" | "lather status") ;;
    "lather "*[!a-z]*[!\ ]*) ;;
    *) text="" ;;  # a name in a sentence
  esac
  case $text in
    "lather train --set" | "lather train --resume") text="" ;;  # likewise
    "lather train --"*) ;;  # --resume, --config: for existing runs
    "lather train "*) text="$(sed -E 's/--watch//; s/--(steps|time|out|threads|target) [^ ]+//g' <<<"$text") --steps 1 --time 5 --threads 2 --quiet --out out-$2 --set training.reference=false" ;;
    "lather compare "*) text="$(sed -E 's/--(steps|time|equal-time|out|seeds) [^ ]+//g' <<<"$text") --steps 1 --time 5 --seeds 1 --out out-$2 --set training.reference=false" ;;
    "lather sweep "*) text="$(sed -E 's/--(jobs|time-limit|out) [^ ]+//g' <<<"$text") --collect --out out-$2" ;;
    "lather watch"*) text="" ;;             # serves until it is interrupted
  esac
  echo "$text"
}

count=0 failed=0
while IFS= read -r command; do
  count=$((count + 1))
  short=$(shorten "$command" $count)
  [ -n "$short" ] || continue
  if ! timeout 120 bash -c "$short" </dev/null >out 2>&1; then
    printf 'failed: %s\n    as: %s\n%s\n' "$command" "$short" "$(tail -3 out)"
    failed=$((failed + 1))
  fi
done < <(commands)
echo "$count commands, $failed failed"
[ "$count" -ge 10 ] && [ "$failed" -eq 0 ]
