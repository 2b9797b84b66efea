#!/usr/bin/env bash
# Tests the last commit with other versions of Node, which npm has as packages: what needs no engine, and the quick start in a new clone.
# npm run test:node -- 22 24
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

(($# > 0)) || set -- 22 24
for version in "$@"; do
  npm install --silent --no-save --prefix "$folder/node-$version" "node@$version"
  git clone --quiet "$root" "$folder/halo-$version"
  (
    export PATH="$folder/node-$version/node_modules/.bin:$PATH" HALO_HOME="$folder/home-$version"
    cd "$folder/halo-$version"
    echo "== Node $(node --version)"
    npm run quickstart
    npm run test:only -- --project unit --project program
  )
done
