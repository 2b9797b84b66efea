#!/usr/bin/env bash
# Records a HALO_HOME with this checkout's halo: runs in every state, their repository, and what commands print about them.
# usage: record-home.sh <name>   writes fixtures/<name>.tar.gz. Needs Docker; run it before a change of formats.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
halo="$here/../../bin/halo"
# The test unpacks to a folder whose path is as long, so that recorded offsets stay right.
dir=$(mktemp -d /tmp/halo-recorded-XXXXXX)
trap 'rm -rf "$dir"' EXIT
export HALO_HOME="$dir/home" HALO_REDIS_URL='' HALO_URL='' NO_COLOR=1
mkdir -p "$HALO_HOME" "$dir/shop" "$dir/printed"

cat > "$HALO_HOME/config.toml" <<'TOML'
[retry]
attempts = 2
backoff = "1s"

[limits]
wall = "2m"

[budget]
day_usd = 20
TOML

cd "$dir/shop"
git init -q -b main .
git config user.name Recorder
git config user.email recorder@example.invalid
cat > halo.toml <<'TOML'
agent = "command"
gates = ["test -s done.txt"]

[agents.command]
run = '''
echo one more line >> done.txt
echo '{"status": "ok", "summary": "Wrote a line."}'
'''
TOML
echo shop > README.md
git add .
git commit -qm 'shop'

prd() { # name, ids
  local name=$1; shift
  { echo "{\"project\": \"$name\", \"userStories\": ["
    local comma=''
    for id in "$@"; do
      printf '%s{"id": "%s", "title": "Write %s", "acceptanceCriteria": ["done.txt names %s"], "passes": false}' "$comma" "$id" "$id" "$id"
      comma=,
    done
    echo ']}'; } > "$dir/$name.json"
}
newest() { "$halo" ls --json | node -e 'process.stdout.write(JSON.parse(require("fs").readFileSync(0, "utf8"))[0].runId)'; }
note() { printf '%s %s\n' "$1" "$(newest)" >> "$dir/runs.txt"; sleep 1.1; }

prd landed A-1 A-2
"$halo" run "$dir/landed.json" > /dev/null
note landed
"$halo" land "$(newest)" > /dev/null
prd failed B-1
"$halo" run "$dir/failed.json" -c 'gates=["test -e never"]' > /dev/null || true
note failed
prd waiting C-1
"$halo" run "$dir/waiting.json" --ask-for-approval > /dev/null < /dev/null || true
note waiting
prd queued D-1 D-2
"$halo" submit "$dir/queued.json" > /dev/null
note queued
prd paused E-1
"$halo" submit "$dir/paused.json" > /dev/null
note paused
"$halo" pause "$(newest)" > /dev/null
prd cancelled F-1
"$halo" submit "$dir/cancelled.json" --priority low > /dev/null
note cancelled
"$halo" cancel "$(newest)" > /dev/null
prd after G-1
"$halo" submit "$dir/after.json" --after "$(awk '$1 == "queued" { print $2 }' "$dir/runs.txt")" > /dev/null
note after

"$halo" ls --json > "$dir/printed/ls.json"
while read -r name run; do
  "$halo" logs "$run" --json > "$dir/printed/$name.logs.json"
  "$halo" logs "$run" > "$dir/printed/$name.logs.txt"
  "$halo" diff "$run" > "$dir/printed/$name.diff" 2> /dev/null || true
done < "$dir/runs.txt"
"$halo" config show --json > "$dir/printed/config.json"

# The server's own data is derived and of this machine.
rm -rf "$HALO_HOME/redis" "$HALO_HOME/workers"
printf '%s' "$dir" > "$dir/path.txt"
mkdir -p "$here/fixtures"
tar -C "$dir" --sort=name --owner=0 --group=0 --numeric-owner -czf "$here/fixtures/$1.tar.gz" .
ls -l "$here/fixtures/$1.tar.gz"
