#!/usr/bin/env bash
# Types, lint and format of all files, concurrently. Prints the output of each check that fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH="$PWD/node_modules/.bin:$PATH"

checks=('eslint .' 'tsc --noEmit' 'tsc --noEmit -p src/web' 'prettier --check .')
running=()
output=$(mktemp -d)
# Ctrl-C does not reach processes in the background.
trap 'kill "${running[@]}" 2>/dev/null; rm -rf "$output"' EXIT

for index in "${!checks[@]}"; do
  # shellcheck disable=SC2086 # a command and its arguments
  ${checks[index]} >"$output/$index" 2>&1 &
  running+=($!)
done
failed=0
for index in "${!checks[@]}"; do
  wait "${running[index]}" && continue
  failed=1
  echo "${checks[index]} failed:"
  cat "$output/$index"
done
exit "$failed"
