#!/usr/bin/env bash
# Faults of workers, Redis, Docker, network and disk, and the tables of what became of each. `--all` adds what takes long;
# other arguments go to vitest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export HALO_TEST_LEVEL=full
rest=()
for word in "$@"; do
  if [ "$word" = --all ]; then HALO_TEST_LEVEL=all; else rest+=("$word"); fi
done
bash scripts/setup.sh
# Tests of wrong clocks are skipped without it.
if ! command -v faketime >/dev/null && [[ $EUID == 0 && ${HALO_SETUP_INSTALL:-yes} != no ]]; then
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends faketime >/dev/null 2>&1 || true
fi
# Tests of hazards that live beside what they are about, and of these files nothing else.
only=(-t hazard)
for word in "${rest[@]}"; do
  case $word in -t | --testNamePattern*) only=() ;; esac
done
mapfile -t others < <(grep -rlE "'[^']*hazards? [0-9]" test --include='*.test.ts' | grep -v '^test/chaos/')
# Much of their time is waiting for locks of the dead to end.
exec node_modules/.bin/vitest run --maxWorkers=3 test/chaos "${others[@]}" "${only[@]}" "${rest[@]}"
