#!/usr/bin/env bash
# Takes the picture of the dashboard in README.md: npm run screenshot [-- PATH]
set -euo pipefail
cd "$(dirname "$0")/.."
node scripts/build.cjs
rm -rf .halo-bench
node_modules/.bin/tsc -p tsconfig.bench.json
find src test/support \( -name '*.lua' -o -name '*.mjs' \) -exec cp --parents {} .halo-bench/ \;
ln -s ../docker ../bin ../dist .halo-bench/
cp package.json package-lock.json .halo-bench/
exec node .halo-bench/test/screenshot/take-screenshot.js "$@"
