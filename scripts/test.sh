#!/usr/bin/env bash
# Everything that `npm test` is: set-up as far as missing, the checks, all tests. Arguments go to vitest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash scripts/setup.sh
npm run --silent check
exec node_modules/.bin/vitest run "$@"
