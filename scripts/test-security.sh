#!/usr/bin/env bash
# The attacks on halo, each by a hostile agent, repository, page or file, and the table of what held. Arguments go to vitest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash scripts/setup.sh
export HALO_TEST_LEVEL=full
exec node_modules/.bin/vitest run test/security "$@"
