#!/usr/bin/env bash
# All of `npm test`: setup, with what only tests need, the checks, all tests. Arguments go to vitest.
# With HALO_TEST_LEVEL=full, as in `npm run test:full`, everything that `npm test` leaves out, too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

HALO_SETUP_TESTS=1 bash scripts/setup.sh
npm run --silent check
exec node_modules/.bin/vitest run "$@"
