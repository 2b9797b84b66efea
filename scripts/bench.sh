#!/usr/bin/env bash
# Runs a benchmark: npm run bench -- cold|dashboard|engines|figures|growth|long-run|output|overhead|paint|peers|restart|services|simulate|start|throughput|warm [--json] [--rounds N]
#   npm run bench -- warm --repository PATH --setup 'npm ci' [--set key=value]...
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh >&2
rm -rf .halo-bench
node_modules/.bin/tsc -p tsconfig.bench.json
find src test/support \( -name '*.lua' -o -name '*.mjs' -o -name '*.sh' -o -name Dockerfile \) -exec cp --parents {} .halo-bench/ \;
ln -s ../docker ../bin .halo-bench/
cp package.json package-lock.json .halo-bench/
exec node .halo-bench/test/bench/main.js "$@"
