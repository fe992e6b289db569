#!/bin/sh
# Restores the data of each trial by clones of ZFS, below a file system such as tank/dialin; as root, or with `zfs allow`:
#
#   dialin sweep innodb_io_capacity=200,2000 --snapshot-command '/path/to/zfs.sh tank/dialin'
#
# Set recordsize=16K, compression and the like on that file system before: what the servers run on inherits them.
#
# How it was tested: against a stub of `zfs` that records its calls (tests/examples/test_snapshot.py).
set -eu
parent=$1 phase=$2 name=$3 place=${4-} # dialin adds all but the first
data=$parent/$name trial=$parent/$name-trial

destroy() {
  if zfs list -H -o name "$1" >/dev/null 2>&1; then zfs destroy -r -f "$1"; fi
}

case $phase in
  take)
    zfs create "$data"
    cp -a "$place/." "$(zfs get -H -o value mountpoint "$data")"
    zfs snapshot "$data@taken"
    ;;
  restore) zfs clone -o "mountpoint=$place" "$data@taken" "$trial" ;;
  remove)
    if [ -n "$place" ]; then
      destroy "$trial"
      if [ -d "$place" ]; then rmdir "$place"; fi
    else
      destroy "$data"
    fi
    ;;
esac
