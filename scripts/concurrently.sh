#!/usr/bin/env bash
# Runs the commands it is given concurrently. Prints the output of each that fails; fails if one of them does.
set -euo pipefail

commands=("$@")
running=()
output=$(mktemp -d)
# Ctrl-C does not reach processes in the background. Most have ended when this runs, and cannot be killed.
trap 'kill "${running[@]}" 2>/dev/null || true; rm -rf "$output"' EXIT

for command in "${commands[@]}"; do
  # shellcheck disable=SC2086 # a command and its arguments
  $command >"$output/${#running[@]}" 2>&1 &
  running+=($!)
done
failed=0
for index in "${!running[@]}"; do
  wait "${running[index]}" && continue
  failed=1
  echo "${commands[index]} failed:"
  cat "$output/$index"
done
exit "$failed"
