#!/usr/bin/env bash
# What the official image does, as far as halo's tests see it: as root, it prepares the data folder and continues as
# postgres; an empty data folder gets a cluster, the user, the database and what /docker-entrypoint-initdb.d has.
set -euo pipefail

main() {
  [[ ${1:0:1} != - ]] || set -- postgres "$@"
  [[ $1 == postgres ]] || exec "$@"
  prepare_folders
  ((EUID != 0)) || exec gosu postgres "$0" "$@"
  [[ -s $PGDATA/PG_VERSION ]] || initialise "$@"
  exec "$@"
}

prepare_folders() {
  mkdir -p "$PGDATA" /var/run/postgresql
  chmod 0700 "$PGDATA" || true
  chmod 3775 /var/run/postgresql || true
  ((EUID != 0)) || chown -R postgres "$PGDATA" /var/run/postgresql
}

initialise() {
  : "${POSTGRES_USER:=postgres}" "${POSTGRES_PASSWORD:=}" "${POSTGRES_HOST_AUTH_METHOD:=}"
  : "${POSTGRES_DB:=$POSTGRES_USER}"
  if [[ -z $POSTGRES_PASSWORD && $POSTGRES_HOST_AUTH_METHOD != trust ]]; then
    echo 'Error: Database is uninitialized and superuser password is not specified.' >&2
    exit 1
  fi
  create_cluster
  echo "host all all all ${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}" >>"$PGDATA/pg_hba.conf"
  # Only over its socket: what connects to the port must not find a server that is about to stop.
  pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
  if [[ $POSTGRES_DB != postgres ]]; then createdb --username "$POSTGRES_USER" --maintenance-db postgres "$POSTGRES_DB"; fi
  run_scripts
  pg_ctl -D "$PGDATA" -m fast -w stop
  echo 'PostgreSQL init process complete; ready for start up.'
}

# initdb wants a name for its user, which an unknown number has only with nss_wrapper.
create_cluster() {
  local names=() wrapper password
  password=$(mktemp)
  printf '%s\n' "$POSTGRES_PASSWORD" >"$password"
  if ! getent passwd "$EUID" >/dev/null; then
    wrapper=$(find /usr/lib -name libnss_wrapper.so -print -quit)
    printf 'postgres:x:%s:%s::%s:/bin/false\n' "$EUID" "$(id -g)" "$PGDATA" >/tmp/passwd
    printf 'postgres:x:%s:\n' "$(id -g)" >/tmp/group
    names=(LD_PRELOAD="$wrapper" NSS_WRAPPER_PASSWD=/tmp/passwd NSS_WRAPPER_GROUP=/tmp/group)
  fi
  # shellcheck disable=SC2086 # several words
  env "${names[@]}" initdb --username="$POSTGRES_USER" --pwfile="$password" ${POSTGRES_INITDB_ARGS:-}
  rm -f "$password"
}

run_scripts() {
  local sql=(psql -v ON_ERROR_STOP=1 --no-psqlrc --username "$POSTGRES_USER" --dbname "$POSTGRES_DB") file
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
      *.sh) bash "$file" ;;
      *.sql) "${sql[@]}" -f "$file" ;;
      *.sql.gz) gunzip -c "$file" | "${sql[@]}" ;;
    esac
  done
}

main "$@"
