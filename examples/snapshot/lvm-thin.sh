#!/bin/sh
# Restores the data of each trial by snapshots of a thin volume; as root. A volume group, its thin pool, and the size of the data:
#
#   dialin sweep innodb_io_capacity=200,2000 --snapshot-command '/path/to/lvm-thin.sh vg pool 200G'
#
# How it was tested: against stubs of the programs that it calls, which record their calls (tests/examples/test_snapshot.py).
set -eu
group=$1 pool=$2 size=$3 phase=$4 name=$5 place=${6-} # dialin adds the last three
trial=$name-trial

remove() {
  if lvs "$group/$1" >/dev/null 2>&1; then lvremove --yes "$group/$1"; fi
}

case $phase in
  take)
    lvcreate --thin --virtualsize "$size" --name "$name" "$group/$pool"
    mkfs.ext4 -q "/dev/$group/$name"
    mounted=$(mktemp -d)
    mount "/dev/$group/$name" "$mounted"
    cp -a "$place/." "$mounted" || { umount "$mounted"; exit 1; }
    umount "$mounted"
    rmdir "$mounted"
    ;;
  restore)
    lvcreate --snapshot --setactivationskip n --name "$trial" "$group/$name"
    mkdir "$place"
    mount "/dev/$group/$trial" "$place"
    ;;
  remove)
    if [ -n "$place" ]; then
      if mountpoint -q "$place"; then umount "$place"; fi
      remove "$trial"
      if [ -d "$place" ]; then rmdir "$place"; fi
    else
      remove "$name"
    fi
    ;;
esac
