#!/usr/bin/env bash
# Sets this machine up, then runs the example PRD against a small repository made for it, and shows what came of it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
home=${HALO_HOME:-$HOME/.halo}
halo=$root/bin/halo

main() {
  bash "$root/scripts/setup.sh"
  make_repository
  explain
  local code=0
  (cd "$repo" && "$halo" run prd.json) || code=$?
  show_result
  exit "$code"
}

heading() { printf '\n== %s\n' "$*"; }

# Each time a new one. The cassettes that its halo.toml names lie in it, unseen by git.
make_repository() {
  local place
  mkdir -p "$home/quickstart"
  place=$(mktemp -d "$home/quickstart/$(date +%Y%m%d-%H%M%S)-XXXX")
  repo=$place/todo
  cp -R "$root/examples/todo" "$repo"
  in_repo init --quiet
  in_repo symbolic-ref HEAD refs/heads/main
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
  heading 'Three stories for a small repository'
  cat <<TEXT
The repository:  $repo
The stories:     $repo/prd.json
The agent is the real Codex CLI, sealed in a container. No model and no key are needed: its model traffic is
replayed from a cassette that was written for this example. The gates run for real.

\$ halo run prd.json
TEXT
}

show_result() {
  local branch run_id run_dir
  branch=$(in_repo for-each-ref --format='%(refname:short)' refs/heads/halo/ | head -n 1)
  if [[ -n $branch ]]; then
    heading "git log --stat main..$branch"
    in_repo --no-pager log --stat --reverse --format='%n%C(auto)commit %h%n    %s%n%w(0,4,4)%n%(trailers)' "main..$branch"
  fi
  run_id=${branch#halo/}
  run_dir=$home/runs/$run_id
  if [[ -z $run_id || ! -d $run_dir ]]; then
    printf '\nNothing was committed. `%s ls` shows the run.\n' "$halo" >&2
    return
  fi
  heading 'Verdicts and gates'
  sed -n 's/^## /\n/p; /^- verdict/s/^- /  /p; /^- gate/s/^- /  /p' "$run_dir/progress.md"
  heading "The run directory: $run_dir"
  ls "$run_dir"
  heading 'Next'
  cat <<TEXT
cd $repo
$halo status $run_id     # the run in detail
$halo diff $run_id       # all it changed
$halo land $run_id       # fast-forward main to it
TEXT
}

main
