#!/bin/sh
# Applies the settings of a dialin study to a server in a compose file, by an override file with an option file as a volume.
#
#   dialin sweep innodb_buffer_pool_instances=1,4 --attach --apply-command '/path/to/compose.sh /srv/app/compose.yaml db'
#
# The service is created again for each setting, and its data is in its volume. Its image must read /etc/my.cnf.d or
# /etc/mysql/conf.d: name another directory in DIALIN_CONF_DIR. COMPOSE names the program, by default "docker compose".
# MariaDB has no server_uuid: give its service a hostname, so that dialin recognises it after it was created again.
#
# How it was tested: with podman-compose on MySQL 9.7 (tests_live/test_images.py); with docker compose against a stub of docker, which
# records its calls (tests/examples/test_apply.py).
set -eu
file=$1 service=$2 directory=$3 # dialin adds the directory, which is the same in all calls of a study
override=$directory/override.yaml

if grep -q '"undo": true' "$directory/change.json"; then
  set -- -f "$file"
else
  chmod 644 "$directory/settings.cnf" # the server in the container is another user
  printf 'services:\n  %s:\n    volumes:\n      - "%s:%s/zz-dialin.cnf:ro"\n' \
    "$service" "$directory/settings.cnf" "${DIALIN_CONF_DIR:-/etc/mysql/conf.d}" >"$override"
  set -- -f "$file" -f "$override"
fi
# A bind mount keeps the file that it was made with, so the container is made again also where only the text has changed.
exec ${COMPOSE:-docker compose} "$@" up --detach --no-deps --force-recreate "$service"
