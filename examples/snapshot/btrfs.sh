#!/bin/sh
# Restores the data of each trial by snapshots of btrfs, on any mounted one:
#
#   dialin sweep innodb_io_capacity=200,2000 --snapshot-command '/path/to/btrfs.sh /mnt/btrfs'
#
# The data is copied there once for each study or suite. A trial that ends costs what deleting its snapshot costs, whatever its size.
#
# How it was tested: by a study of 22 trials on a btrfs in a file (btrfs-progs 6.2, Linux 6.18), and against a stub of `btrfs`
# that records its calls (tests/examples/test_snapshot.py).
set -eu
volume=$1 phase=$2 name=$3 place=${4-} # dialin adds all but the first
data=$volume/$name trial=$volume/$name-trial

delete() {
  if [ -e "$1" ]; then btrfs subvolume delete "$1"; fi
}

case $phase in
  take)
    btrfs subvolume create "$data"
    cp -a "$place/." "$data"
    ;;
  restore)
    btrfs subvolume snapshot "$data" "$trial"
    ln -s "$trial" "$place"
    ;;
  remove)
    if [ -n "$place" ]; then
      delete "$trial"
      rm -f "$place"
    else
      delete "$data"
    fi
    ;;
esac
