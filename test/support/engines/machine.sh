#!/bin/sh
# The first process of a machine: it makes its view of files, and ends with its stdin, which ends everything on the machine.
# Arguments: folder, host name, folders that are not visible.
set -eu
dir=$1 name=$2
shift 2
mount --make-rprivate /
hostname "$name"
ip link set lo up
mount --bind "$dir/data" /var/lib/docker
mount --bind "$dir/run" /run
mount --bind "$dir/etc" /etc/docker
for hidden in "$@"; do
  [ ! -d "$hidden" ] || mount -t tmpfs tmpfs "$hidden"
done
echo ready
# While it waits, the shell also reaps processes whose parents are gone.
exec 3<&0
{ read -r _ <&3 || true; } &
wait
