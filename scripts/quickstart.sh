#!/usr/bin/env bash
# Sets this machine up, then runs the example PRD against a small repository made for it, and shows what came of it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
home=${HALO_HOME:-$HOME/.halo}

main() {
  heading 'Set-up'
  bash "$root/scripts/setup.sh"
  make_repository
  explain
  local code=0
  (cd "$repo" && "$root/bin/halo" run prd.json) || code=$?
  show_result
  exit "$code"
}

heading() { printf '\n%s== %s%s\n\n' "$bold" "$*" "$plain"; }

# Each time a new one. The cassettes lie in its folder but not in git: the agent's clone does not have them.
make_repository() {
  mkdir -p "$home/quickstart"
  repo=$(mktemp -d "$home/quickstart/$(date +%Y%m%d-%H%M%S)-XXXX")/todo
  cp -R "$root/examples/todo" "$repo"
  in_repo init --quiet
  in_repo symbolic-ref HEAD refs/heads/main
  mkdir -p "$repo/.git/info"
  echo /cassettes/ >>"$repo/.git/info/exclude"
  in_repo add --all
  in_repo commit --quiet --message 'A to-do list for the command line'
}

# With a fixed author and without the user's hooks and signatures.
in_repo() {
  git -C "$repo" -c user.name='halo quickstart' -c user.email=quickstart@localhost \
    -c commit.gpgSign=false -c core.hooksPath=/dev/null "$@"
}

explain() {
  heading 'The run'
  cat <<TEXT
A small repository:  $repo
Three stories:       $repo/prd.json

The real Codex CLI implements them, sealed in a container. It needs no key and
no network here: what the model says was written for this example and is
replayed. The edits, the tests and the gates are real.

\$ halo run prd.json
TEXT
}

show_result() {
  local branch run_id run_dir
  branch=$(in_repo for-each-ref --format='%(refname:short)' refs/heads/halo/ | head -n 1)
  # halo has printed the reason and how to continue.
  [[ -n $branch ]] || return 0
  run_id=${branch#halo/}
  run_dir=$home/runs/$run_id
  heading "The commits: git log --stat main..$branch"
  in_repo --no-pager log --stat --reverse "--format=format:$commit_format" "main..$branch"
  heading 'The gates, each in a clean container'
  show_gates "$run_dir/progress.md"
  heading "The run directory: $run_dir"
  cat <<TEXT
agent.log      what the agent said, ran and edited
journal.jsonl  what happened, event by event
artifacts/     per story and attempt: prompt, answer, diff, gate logs, usage
run.json       who, what, where, and how it ended
TEXT
  heading 'Next'
  [[ -z ${HALO_HOME:-} ]] || echo "export HALO_HOME=$home"
  cat <<TEXT
cd $repo
$(halo) status $run_id   # the run, story by story
$(halo) logs $run_id     # what the agent did
$(halo) diff $run_id     # what changed
$(halo) land $run_id     # fast-forward main to it

On a repository of yours, with a key in OPENAI_API_KEY:
halo init, halo check, then halo run with a PRD of yours
TEXT
}

# One line per story from the run's progress file: its id, its verdict, its gates with their times.
show_gates() {
  awk '
    function finish() { if (id != "") printf "%-8s %-8s %s\n", id, verdict, gates }
    /^## / { finish(); id = substr($2, 1, length($2) - 1); verdict = gates = "" }
    /^- verdict: / { verdict = $3 }
    /^- gate / {
      sub(/^- gate /, ""); sub(/: passed in /, " "); gsub(/`/, "")
      gates = gates (gates == "" ? "" : ", ") $0
    }
    END { finish() }
  ' "$1"
}

# How to call it from anywhere.
halo() {
  if [[ $(command -v halo || true) -ef $root/bin/halo ]]; then echo halo; else echo "$root/bin/halo"; fi
}

bold='' plain='' commit_format='commit %h%n    %s%n    %(trailers:key=Halo-Run,key=Halo-Story,key=Halo-Attempt,separator=%x20%x20)%n'
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' plain=$'\e[0m'
  commit_format='%C(yellow)commit %h%C(reset)%n    %s%n    %C(dim)%(trailers:key=Halo-Run,key=Halo-Story,key=Halo-Attempt,separator=%x20%x20)%C(reset)%n'
fi
main
