#!/bin/sh
# Applies the settings of a dialin study to a server on another machine: an option file written over ssh, then systemd.
#
#   dialin sweep innodb_log_file_size=48M,256M --attach \
#     --apply-command '/path/to/systemd-ssh.sh db1.example.com /etc/mysql/conf.d/zz-dialin.cnf mysql'
#
# ssh must log in without a question (a key), to an account that may write the file and restart the unit. The file may be the
# server's own option file, or one that it reads last; it is brought back as it was at the end.
#
# How it was tested: against a stub of ssh, which records its calls (tests/examples/test_apply.py).
set -eu
host=$1 file=$2 unit=$3 directory=$4 # dialin adds the directory, which is the same in all calls of a study
original=$directory/original.cnf

on_host() { ssh -o BatchMode=yes "$host" "$@"; }

if grep -q '"undo": true' "$directory/change.json"; then
  if [ -e "$original" ]; then on_host "cat >'$file'" <"$original"; fi
else
  if [ ! -e "$original" ]; then
    on_host "if [ -e '$file' ]; then cat '$file'; fi" >"$original.new"
    mv "$original.new" "$original" # at once: a copy that is half written must never be brought back
  fi
  cat "$original" "$directory/settings.cnf" | on_host "cat >'$file'"
fi
on_host "systemctl restart '$unit'" </dev/null
