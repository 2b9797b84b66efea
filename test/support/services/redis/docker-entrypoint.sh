#!/bin/sh
# What the official image does: options start the server; as root, it takes over the data folder and continues as redis.
set -e
case $1 in -* | *.conf) set -- redis-server "$@" ;; esac
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  chown -R redis .
  exec gosu redis "$0" "$@"
fi
umask 0077
exec "$@"
