#!/usr/bin/env bash
# Faults of workers, Redis, Docker, network and disk, and the matrix of what became of each. `--all` adds what takes long;
# other arguments go to vitest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export HALO_CHAOS_LEVEL=full
rest=()
for word in "$@"; do
  if [ "$word" = --all ]; then HALO_CHAOS_LEVEL=all; else rest+=("$word"); fi
done
bash scripts/setup.sh
exec node_modules/.bin/vitest run test/chaos "${rest[@]}"
