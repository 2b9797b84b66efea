#!/usr/bin/env bash
# Takes repositories from a clone through `halo init`, `halo check` and `halo run`, with an agent that changes nothing,
# and prints a row of a table for each. Reads a list: a git URL or path a line, and after it the options
# of check and run that a person had to add.
#
#   scripts/try-repositories.sh < list.txt
#   echo 'https://github.com/expressjs/express' | scripts/try-repositories.sh
#
# What the commands say is kept in the folder that is named at the end.
set -uo pipefail
halo="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/bin/halo"
work="$(mktemp -d "${TMPDIR:-/tmp}/halo-try-XXXXXX")"
export HALO_HOME="$work/home"

prd='{"project":"trial","userStories":[{"id":"A","title":"Change nothing","acceptanceCriteria":["The gates pass."],"priority":1,"passes":false}]}'
agent=(--agent command -c "agents.command.run=echo '{\"status\":\"ok\",\"summary\":\"Nothing to do.\"}'")

# The last line that says something, without what a table would take for its own.
last() { grep -v '^ *$' "$1" | tail -n 1 | tr '|' '/'; }
list() { paste -sd ';' - | sed 's/;/<br>/g' | tr '|' '/'; }

echo '| repository | init guessed | init warned | added by hand | check said | run said |'
echo '| --- | --- | --- | --- | --- | --- |'
while read -r source options; do
  [ -n "$source" ] || continue
  name="$(basename "${source%/repo}" .git)"
  name="${name##*+}"
  out="$work/$name"
  mkdir "$out"
  if ! git clone --quiet --depth 1 "$source" "$out/clone" 2> "$out/clone.err"; then
    echo "| $name | the clone failed: $(last "$out/clone.err") | | | | |"
    continue
  fi
  cd "$out/clone" || exit 1
  # As words of a shell, so that a setting with blanks is quoted.
  mapfile -t more < <(xargs -r -n 1 printf '%s\n' <<< "$options")
  begun=$SECONDS
  "$halo" init > "$out/init.out" 2> "$out/init.err" < /dev/null
  seconds=$((SECONDS - begun))
  guessed="$(sed -n 's/^\(setup\|gate\) */`/p' "$out/init.out" | sed 's/ ([^()]*)$//' | sed 's/$/`/' | list)"
  warned="$(sed -n 's/^! //p' "$out/init.err" | list)"
  "$halo" check "${more[@]}" > "$out/check.out" 2> "$out/check.err" < /dev/null
  check="$(sed -n 's/^failed  *//p' "$out/check.out" | head -n 1 | cut -c 1-300 | tr '|' '/')"
  [ -n "$check" ] || check="$(last "$out/check.out")"
  [ -n "$check" ] || check="$(last "$out/check.err")"
  # Each has its own: halo marks in it what is done.
  echo "$prd" > "$out/prd.json"
  "$halo" run "$out/prd.json" "${more[@]}" "${agent[@]}" -c retry.attempts=1 > "$out/run.out" 2> "$out/run.err" < /dev/null
  run="exit $?: $(sed -n 's/^ *\([A-Z_]\{5,\}\)  .*/\1/p' "$out/run.out" | tail -n 1)"
  echo "| $name | ${guessed:-nothing} | ${warned:-nothing} (${seconds}s) | ${options:-nothing} | $check | $run |"
done
echo "what they said: $work" >&2
