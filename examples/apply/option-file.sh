#!/bin/sh
# Applies the settings of a dialin study to a server on this machine: in an option file, by any command that restarts it.
#
#   dialin sweep innodb_log_file_size=48M,256M --attach \
#     --apply-command '/path/to/option-file.sh /etc/mysql/conf.d/zz-dialin.cnf "systemctl restart mysql"'
#
# The file may be the server's own option file, or one that it reads last (the last value of a variable counts), which need not
# exist. It is brought back as it was at the end.
#
# How it was tested: on MySQL 5.6 and 9.7 and MariaDB 10.11 (tests_live/test_managed.py).
set -eu
file=$1 restart=$2 directory=$3 # dialin adds the directory, which is the same in all calls of a study
original=$directory/original.cnf

if grep -q '"undo": true' "$directory/change.json"; then
  if [ -e "$original" ]; then cat "$original" >"$file"; fi
else
  if [ ! -e "$original" ]; then
    if [ -e "$file" ]; then cp "$file" "$original.new"; else : >"$original.new"; fi
    mv "$original.new" "$original" # at once: a copy that is half written must never be brought back
  fi
  cat "$original" "$directory/settings.cnf" >"$file"
fi
exec sh -c "$restart"
