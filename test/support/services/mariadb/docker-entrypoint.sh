#!/usr/bin/env bash
# What the official image does, as far as halo's tests see it: as root, it takes over the data folder and continues as
# mysql; an empty data folder gets the system tables, passwords, the user, the database and what initdb.d has.
set -euo pipefail
data=/var/lib/mysql
socket=/run/mysqld/mysqld.sock

main() {
  [[ ${1:0:1} != - ]] || set -- mariadbd "$@"
  [[ $1 == mariadbd || $1 == mysqld ]] || exec "$@"
  if ((EUID == 0)); then
    chown -R mysql: "$data" "${socket%/*}"
    exec gosu mysql "$0" "$@"
  fi
  [[ -d $data/mysql ]] || initialise "$@"
  exec "$@"
}

# The variables have names of MySQL, too.
value_of() {
  local maria="MARIADB_$1" mysql="MYSQL_$1"
  printf '%s' "${!maria:-${!mysql:-}}"
}

initialise() {
  local root user password database server
  root=$(value_of ROOT_PASSWORD)
  user=$(value_of USER) password=$(value_of PASSWORD) database=$(value_of DATABASE)
  if [[ -z $root$(value_of ALLOW_EMPTY_ROOT_PASSWORD)${MYSQL_ALLOW_EMPTY_PASSWORD:-}$(value_of RANDOM_ROOT_PASSWORD) ]]; then
    echo 'Database is uninitialized and password option is not specified' >&2
    exit 1
  fi
  [[ -z $(value_of RANDOM_ROOT_PASSWORD) ]] || root=$(pwgen -1 32)
  mariadb-install-db --datadir="$data" --rpm --auth-root-authentication-method=normal --skip-test-db >/dev/null
  # Only over its socket: what connects to the port must not find a server that is about to stop.
  "$@" --skip-networking --socket="$socket" &
  server=$!
  until mariadb -uroot --socket="$socket" -e 'SELECT 1' >/dev/null 2>&1; do
    kill -0 "$server"
    sleep 0.1
  done
  statements | mariadb -uroot --socket="$socket"
  export MYSQL_PWD=$root
  run_scripts
  kill "$server"
  wait "$server"
  unset MYSQL_PWD
  echo 'MariaDB init process done. Ready for start up.'
}

statements() {
  [[ -z $database ]] || echo "CREATE DATABASE IF NOT EXISTS \`$database\`;"
  if [[ -n $user && -n $password ]]; then
    echo "CREATE USER '$user'@'%' IDENTIFIED BY '$(escape "$password")';"
    [[ -z $database ]] || echo "GRANT ALL ON \`${database//_/\\_}\`.* TO '$user'@'%';"
  fi
  echo "CREATE USER 'root'@'%' IDENTIFIED BY '$(escape "$root")'; GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;"
  echo "SET PASSWORD FOR 'root'@'localhost' = PASSWORD('$(escape "$root")');"
}

escape() {
  local text=${1//\\/\\\\}
  printf '%s' "${text//\'/\\\'}"
}

run_scripts() {
  local sql=(mariadb -uroot --socket="$socket") file
  [[ -z $database ]] || sql+=("$database")
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
      *.sh) bash "$file" ;;
      *.sql) "${sql[@]}" <"$file" ;;
      *.sql.gz) gunzip -c "$file" | "${sql[@]}" ;;
    esac
  done
}

main "$@"
