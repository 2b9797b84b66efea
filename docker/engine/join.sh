#!/bin/sh
# Makes the Docker Engine of this machine one of a halo server: it listens with TLS for clients of the server's authority.
# The holder of the key of such a client is root here. `halo engine add` on the server prints how to call it:
#
#   join.sh NAME ADDRESS URL TOKEN CA      asks the server for the certificate
#   join.sh NAME ADDRESS --csr             prints a signing request for `halo engine add NAME --csr FILE`
#   join.sh NAME ADDRESS --install FILE    installs the certificates that it prints
#
# ADDRESS: tcp://host:port; CA: the SHA-256 of the authority's certificate. The private key is made here and stays here.
# A second call changes nothing that is in order here, and the server accepts the key of this machine again.
set -eu
umask 077
export LC_ALL=C

DIR=/etc/docker/halo
DAEMON=/etc/docker/daemon.json
DROP_IN=/etc/systemd/system/docker.service.d/halo.conf
MARK='# Written by halo; removed with: rm this file, systemctl daemon-reload, systemctl restart docker'

say() { printf 'halo: %s\n' "$*" >&2; }
fail() {
  say "$1"
  shift
  for line; do printf '      %s\n' "$line" >&2; done
  exit 1
}

main() {
  case ${3-} in --csr) needed=3 ;; --install) needed=4 ;; *) needed=5 ;; esac
  [ $# -ge $needed ] || fail 'Arguments are missing.' 'Use the command that `halo engine add` prints on the server.'
  name=$1 address=${2#*://} port=${2##*:} how=$3
  case $name in '' | *[!a-z0-9-]*) fail "\"$name\" is not a name of an engine." ;; esac
  case $port in '' | *[!0-9]*) fail "\"$2\" has no port." ;; esac
  [ "$(id -u)" = 0 ] || fail 'This needs root.' 'Put sudo before sh in the command.'
  for program in openssl dockerd; do
    command -v "$program" >/dev/null || fail "$program is missing." "Install the package of $program, then run the command again."
  done
  # What can be refused here is refused before the server counts this machine as joined.
  assert_name
  if [ -d /run/systemd/system ]; then assert_systemd; else assert_file; fi
  trap 'rm -f "$DIR"/*.new' EXIT
  make_key
  case $how in
    --csr) request ;;
    --install)
      take_certificates "$4"
      configure
      ;;
    *)
      fetch_certificates "$3" "$4" "$5"
      configure
      ;;
  esac
}

assert_name() {
  [ ! -s "$DIR/name" ] || [ "$(cat "$DIR/name")" = "$name" ] ||
    fail "This machine is the engine $(cat "$DIR/name") already. Nothing was changed." \
      "To make it $name, remove the other one on the server, and here with: rm $DIR/name. Then run the command again."
}

make_key() {
  mkdir -p "$DIR"
  chmod 700 "$DIR"
  [ -s "$DIR/key.pem" ] && return
  openssl ecparam -name prime256v1 -genkey -noout -out "$DIR/key.new"
  mv "$DIR/key.new" "$DIR/key.pem"
  say "made the key $DIR/key.pem"
}

request() { openssl req -new -sha256 -key "$DIR/key.pem" -subj "/CN=$name"; }

hash_of() { openssl x509 -in "$1" -noout -fingerprint -sha256 | sed 's/.*=//; s/://g' | tr A-F a-f; }

# Whether the present certificate is as good as the new one: of the same authority, address and key, for another month.
is_current() {
  [ -s "$DIR/cert.pem" ] && [ -s "$DIR/ca.pem" ] && [ "$(hash_of "$DIR/ca.pem")" = "$(hash_of "$DIR/ca.new")" ] &&
    [ "$(subject_of "$DIR/cert.pem")" = "$(subject_of "$DIR/cert.new")" ] &&
    openssl x509 -in "$DIR/cert.pem" -noout -checkend 2592000 >/dev/null && is_ours "$DIR/cert.pem" "$DIR/ca.pem"
}

subject_of() { openssl x509 -in "$1" -noout -subject; }

is_ours() {
  openssl verify -CAfile "$2" -purpose sslserver "$1" >/dev/null 2>&1 &&
    [ "$(openssl x509 -in "$1" -noout -pubkey)" = "$(openssl pkey -in "$DIR/key.pem" -pubout)" ]
}

fetch_certificates() {
  command -v curl >/dev/null || fail 'curl is missing.' 'Install the package of curl, then run the command again.'
  csr=$(request | openssl req -outform DER | openssl base64 -A)
  mac=$(printf '%s\n%s' "$name" "$csr" | openssl dgst -sha256 -hmac "$2" -r | cut -d' ' -f1)
  # The token itself is not sent, and the authority is known by its hash, so no machine between can change anything.
  printf '{"name":"%s","csr":"%s","mac":"%s"}' "$name" "$csr" "$mac" |
    curl -sS --max-time 30 --max-filesize 65536 -H 'content-type: application/json' --data-binary @- -o "$DIR/answer.new" \
      "$1/engines/join" || fail "The server $1 cannot be reached." 'Check the address and the firewall, then run the command again.'
  grep -q '^-----BEGIN CERTIFICATE-----' "$DIR/answer.new" ||
    fail "The server refused: $(head -c 1000 "$DIR/answer.new" | sed 's/.*"message":"\([^"]*\)".*/\1/' | tr -cd '[:print:]')" \
      "Run \`halo engine add $name\` on the server, then the command that it prints here."
  take_certificates "$DIR/answer.new" "$3"
}

# Takes the certificate of the engine and that of the authority, in this order, from a file.
take_certificates() {
  awk '/^-----BEGIN CERTIFICATE-----/ { n++ } n == 1' "$1" >"$DIR/cert.new"
  awk '/^-----BEGIN CERTIFICATE-----/ { n++ } n == 2' "$1" >"$DIR/ca.new"
  [ $# -lt 2 ] || [ "$(hash_of "$DIR/ca.new")" = "$2" ] ||
    fail 'The answer is not of the authority that the command names. Docker stays as it is.' \
      'Another machine may have answered in place of the server: use the way without HTTP, `halo engine add --help`.'
  is_ours "$DIR/cert.new" "$DIR/ca.new" || fail 'The certificate is not for the key of this machine. Docker stays as it is.'
  printf '%s\n' "$name" >"$DIR/name"
  if cmp -s "$DIR/cert.new" "$DIR/cert.pem" || { [ $# -ge 2 ] && is_current; }; then return; fi
  mv "$DIR/ca.new" "$DIR/ca.pem"
  mv "$DIR/cert.new" "$DIR/cert.pem"
  changed=yes
  say "installed the certificate $DIR/cert.pem, valid until $(openssl x509 -in "$DIR/cert.pem" -noout -enddate | sed 's/.*=//')"
}

configure() {
  if [ -d /run/systemd/system ]; then configure_systemd; else configure_file; fi
}

TLS="--tlsverify --tlscacert $DIR/ca.pem --tlscert $DIR/cert.pem --tlskey $DIR/key.pem"

assert_systemd() {
  # The engine does not start if options of the command are in the file, too.
  ! grep -qsE '"(hosts|tls[a-z]*)"' "$DAEMON" ||
    fail "$DAEMON sets hosts or TLS already. Nothing was changed." 'Remove these settings from it, then run the command again.'
  unit=$(systemctl show -p FragmentPath docker.service | sed 's/^FragmentPath=//')
  [ -n "$unit" ] && start=$(sed -n 's/^ExecStart=//p' "$unit") && [ -n "$start" ] ||
    fail 'docker.service was not found. Nothing was changed.' 'Install Docker Engine with its package, then run the command again.'
  for other in /etc/systemd/system/docker.service.d/*.conf; do
    [ "$other" = "$DROP_IN" ] || ! grep -qs '^ExecStart=' "$other" ||
      fail "$other also changes how Docker starts. Nothing was changed." 'Remove its ExecStart, then run the command again.'
  done
}

# With systemd, the command of Docker's own unit gets further options.
configure_systemd() {
  mkdir -p "${DROP_IN%/*}"
  # What changes the certificates restarts Docker with it, see halo-engine.path.
  rm -f "$DIR/before.conf"
  [ ! -e "$DROP_IN" ] || cp -p "$DROP_IN" "$DIR/before.conf"
  printf '%s\n[Service]\nExecStart=\nExecStart=%s -H tcp://0.0.0.0:%s %s\n' "$MARK" "$start" "$port" "$TLS" >"$DIR/conf.new"
  install_file "$DROP_IN"
  printf '%s\n[Path]\nPathChanged=%s\n[Install]\nWantedBy=multi-user.target\n' "$MARK" "$DIR/cert.pem" >"$DIR/conf.new"
  install_file /etc/systemd/system/halo-engine.path
  printf '%s\n[Service]\nType=oneshot\nExecStart=/bin/sh -c "exec systemctl restart docker.service"\n' "$MARK" >"$DIR/conf.new"
  install_file /etc/systemd/system/halo-engine.service
  must_restart || return 0
  systemctl daemon-reload
  systemctl enable --now halo-engine.path
  say 'restarting Docker: containers without a restart policy stop'
  systemctl restart docker.service || go_back
  say "Docker listens at port $port. Next, on the server: halo image push $name && halo engine check $name"
}

# Docker does not start with halo's settings: it gets those that it had before.
go_back() {
  why=$(journalctl -u docker.service -n 5 --no-pager -o cat 2>/dev/null || :)
  systemctl disable --now halo-engine.path || :
  if [ -e "$DIR/before.conf" ]; then mv "$DIR/before.conf" "$DROP_IN"; else rm -f "$DROP_IN"; fi
  systemctl daemon-reload
  systemctl restart docker.service ||
    fail 'Docker does not start, also without the settings of halo, which were removed again.' \
      '`journalctl -u docker.service` says why. Correct that, then run the command again.' "$why"
  fail 'Docker did not start with the settings of halo. They were removed again, and Docker runs as before.' \
    'Correct the cause, then run the command again:' "$why"
}

# Without systemd, daemon.json is the only place. A person may have merged halo's settings with others there.
assert_file() {
  [ ! -e "$DAEMON" ] || is_unchanged || has_settings ||
    fail "$DAEMON exists, without the settings of halo. Nothing was changed." \
      'Add these settings to it, then run the command again:' "$(daemon_settings)"
}

configure_file() {
  if [ ! -e "$DAEMON" ] || is_unchanged; then
    daemon_settings >"$DIR/conf.new"
    assert_valid "$DIR/conf.new"
    install_file "$DAEMON"
  else assert_valid "$DAEMON"; fi
  must_restart || return 0
  say "Restart Docker now; then it listens at port $port. Next, on the server: halo image push $name && halo engine check $name"
}

# Docker is not restarted with a file that it would refuse, which only versions from 23 on can say.
assert_valid() {
  dockerd --help 2>/dev/null | grep -q -e '--validate' || return 0
  why=$(dockerd --validate --config-file "$1" 2>&1) ||
    fail "Docker would not start with the settings of halo. $DAEMON was not changed." "$why"
}

daemon_settings() {
  printf '{\n  "hosts": ["unix:///var/run/docker.sock", "tcp://0.0.0.0:%s"],\n  "tlsverify": true,\n  "tlscacert": "%s",\n  "tlscert": "%s",\n  "tlskey": "%s"\n}\n' \
    "$port" "$DIR/ca.pem" "$DIR/cert.pem" "$DIR/key.pem"
}

# Whether the file is as halo wrote it, for this port or another one.
is_unchanged() { [ "$(without_port <"$DAEMON")" = "$(daemon_settings | without_port)" ]; }

without_port() { sed 's/0\.0\.0\.0:[0-9]*/0.0.0.0/'; }

has_settings() {
  plain=$(tr -d ' \t\r\n' <"$DAEMON")
  for setting in '"tlsverify":true' "\"tlscacert\":\"$DIR/ca.pem\"" "\"tlscert\":\"$DIR/cert.pem\"" "\"tlskey\":\"$DIR/key.pem\""; do
    case $plain in *"$setting"*) ;; *) return 1 ;; esac
  done
  printf %s "$plain" | grep -qE "\"tcp://[^\"]*:$port\""
}

changed=no
must_restart() { [ $changed = yes ] || ! is_served || { say 'everything is in order already' && return 1; }; }

# Whether Docker listens with the certificate.
is_served() {
  for at in "127.0.0.1:$port" "$address"; do
    timeout 5 openssl s_client -connect "$at" </dev/null >"$DIR/served.new" 2>/dev/null || :
    [ "$(hash_of "$DIR/served.new" 2>/dev/null)" != "$(hash_of "$DIR/cert.pem")" ] || return 0
  done
  return 1
}

install_file() {
  if cmp -s "$DIR/conf.new" "$1"; then rm "$DIR/conf.new"; else
    mv "$DIR/conf.new" "$1"
    changed=yes
    chmod 644 "$1"
    say "wrote $1"
  fi
}

main "$@"
