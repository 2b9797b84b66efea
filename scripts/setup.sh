#!/usr/bin/env bash
# Makes a machine ready for halo: npm packages, container engine, Redis, git, the sandbox image. Does only what is
# missing, installs only from the machine's own Debian sources, and never changes a container engine that answers.
# HALO_SETUP_INSTALL=no: install no Debian packages, only say which ones are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

main() {
  check_node
  install_npm_packages
  read_engine
  install_debian_packages
  start_engine
  build_image
}

say() { printf '\342\234\223 %-15s %s\n' "$1" "$2"; }

# Says what is wrong and what to do about it, line by line, and ends.
give_up() {
  printf '\342\234\227 %s\n' "$1" >&2
  shift
  printf '  %s\n' "$@" >&2
  exit 5
}

check_node() {
  command -v node >/dev/null || give_up 'Node is missing.' 'Install Node 20.12 or newer, then run this again.'
  node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 12) ? 0 : 1)' ||
    give_up "Node $(node --version) is too old." 'Install Node 20.12 or newer, then run this again.'
  say node "$(node --version)"
}

install_npm_packages() {
  local stamp=node_modules/.halo-lock sum
  sum=$(cksum package-lock.json)
  if [[ -e node_modules/.package-lock.json ]] &&
    [[ $(cat "$stamp" 2>/dev/null) == "$sum" || ! package-lock.json -nt node_modules/.package-lock.json ]]; then
    say 'npm packages' 'up to date'
    return
  fi
  echo '  installing npm packages'
  local log
  log=$(npm ci --no-progress --loglevel=error 2>&1) ||
    give_up 'npm ci failed:' "$(head -n 12 <<<"$log")" 'The packages come from the registry that npm is set up for.'
  printf '%s' "$sum" >"$stamp"
  say 'npm packages' installed
}

# Sets engine (ok, none, denied), engine_version, image (current, outdated, missing).
read_engine() {
  read -r engine engine_version image < <(node scripts/machine-status.mjs) || true
  [[ -n ${engine:-} ]] || give_up 'halo could not be built.' 'The messages above say why.'
}

install_debian_packages() {
  local wanted=()
  command -v git >/dev/null || wanted+=(git)
  command -v redis-server >/dev/null || command -v valkey-server >/dev/null || wanted+=(redis-server)
  [[ $engine != none ]] || has_dockerd || wanted+=(docker.io)
  has_compose || wanted+=(docker-compose)
  [[ -z ${HALO_SETUP_TESTS:-} ]] || command -v tmux >/dev/null || wanted+=(tmux)
  [[ -z ${HALO_SETUP_TESTS:-} ]] || has_chromium || wanted+=(chromium-headless-shell)
  [[ -z ${HALO_SETUP_TESTS:-} ]] || command -v nginx >/dev/null || wanted+=(nginx-light)
  [[ -z ${HALO_SETUP_TESTS:-} ]] || command -v promtool >/dev/null || wanted+=(prometheus)
  [[ -z ${HALO_SETUP_TESTS:-} ]] || has_compiler || wanted+=(gcc libc6-dev)
  [[ $image != missing ]] || command -v mmdebstrap >/dev/null || wanted+=(mmdebstrap)
  if ((${#wanted[@]} > 0)); then
    may_install || explain_packages "${wanted[@]}"
    echo "  installing ${wanted[*]} from Debian's packages"
    apt_install "${wanted[@]}"
  fi
  say git "$(git --version | cut -d' ' -f3)"
  say redis "$(redis_version)"
}

has_chromium() { [[ -x /usr/lib/chromium/chromium-headless-shell ]] || command -v chromium >/dev/null; }

# The light engine of the tests is a static program.
has_compiler() { command -v gcc >/dev/null && [[ -n $(gcc -print-file-name=libc.a | grep /) ]]; }

has_dockerd() { command -v dockerd >/dev/null || [[ -x /usr/sbin/dockerd ]]; }

has_compose() { command -v docker-compose >/dev/null || docker compose version >/dev/null 2>&1; }

redis_version() {
  if command -v redis-server >/dev/null; then redis-server --version; else valkey-server --version; fi |
    sed -n 's/.*v=\([^ ]*\).*/\1/p'
}

as_root() { if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi; }

can_be_root() { ((EUID == 0)) || sudo -n true 2>/dev/null; }

may_install() {
  [[ ${HALO_SETUP_INSTALL:-yes} != no ]] && command -v apt-get >/dev/null && can_be_root
}

explain_packages() {
  local how="sudo apt-get install --no-install-recommends $*"
  command -v apt-get >/dev/null || how="Install what these Debian packages hold: $*"
  give_up "Missing, and not installed here without root rights or permission: $*" "$how" 'Then run this again.'
}

# The package lists are fetched only when the packages cannot be had with those that are there.
apt_install() {
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -qq install -y
    --no-install-recommends "$@") log
  log=$(mktemp)
  if ! as_root "${install[@]}" >"$log" 2>&1; then
    as_root apt-get -o DPkg::Lock::Timeout=120 -qq update >>"$log" 2>&1 || true
    if ! as_root "${install[@]}" >>"$log" 2>&1; then
      tail -n 15 "$log" >&2
      give_up "apt-get could not install $*." 'The end of its output is above.'
    fi
  fi
  rm -f "$log"
}

start_engine() {
  # Its installation may have started it.
  [[ $engine == ok ]] || read_engine
  [[ $engine != none ]] || start_dockerd
  [[ $engine != denied ]] || give_up 'Docker runs, but this user may not use it.' \
    "sudo usermod -aG docker $(id -un)" 'Then log in again and run this again.'
  say 'docker engine' "$engine_version"
}

start_dockerd() {
  [[ -z ${DOCKER_HOST:-} ]] || give_up "No container engine answers at DOCKER_HOST=$DOCKER_HOST." \
    'Start it, or unset DOCKER_HOST to use one of this machine.'
  can_be_root || give_up 'No Docker engine answers.' 'sudo systemctl start docker   (or: sudo dockerd)'
  local log=/var/log/halo-dockerd.log
  echo '  starting the Docker engine'
  if [[ -d /run/systemd/system ]]; then
    as_root systemctl start docker || true
  else
    as_root sh -c "PATH=\$PATH:/usr/sbin:/sbin setsid dockerd >>$log 2>&1 </dev/null &"
  fi
  for _ in {1..60}; do
    read_engine
    [[ $engine == none ]] || return 0
    sleep 0.5
  done
  [[ ! -r $log ]] || tail -n 5 "$log" >&2
  give_up 'The Docker engine does not start.' "See $log, or \`journalctl -u docker\`."
}

build_image() {
  if [[ $image != current ]]; then
    echo '  building the sandbox image (about two minutes the first time)'
    ./bin/halo image build >/dev/null || give_up 'The sandbox image could not be built.' 'The messages above say why.'
  fi
  say 'sandbox image' halo-sandbox
}

main
