#!/bin/sh
# Applies the settings of a dialin study to Amazon RDS: a parameter group, and a reboot where a parameter needs one.
#
#   dialin sweep innodb_buffer_pool_size=4G,8G --attach --apply-command '/path/to/aws-rds.sh my-instance my-parameter-group'
#
# The group must be a group of your own that only this instance uses. Parameters that the group did not set are reset at the end,
# others get the text back that they had, formulas included. It needs python3 and the aws command with its account and region.
#
# How it was tested: against a stub of aws, which records its calls (tests/examples/test_apply.py).
set -eu
instance=$1 group=$2 directory=$3 # dialin adds the directory, which is the same in all calls of a study
original=$directory/original.json

if [ ! -e "$original" ]; then
  aws rds describe-db-parameters --db-parameter-group-name "$group" --source user --output json >"$original.new"
  mv "$original.new" "$original" # at once: a copy that is half written must never be brought back
fi
python3 - "$directory" <<'PYTHON'
import json, pathlib, sys
directory = pathlib.Path(sys.argv[1])
settings, change = (json.loads((directory / name).read_text()) for name in ("settings.json", "change.json"))
before = {each["ParameterName"]: each.get("ParameterValue") for each in json.loads((directory / "original.json").read_text())["Parameters"]}
wanted = {name: before.get(name) for name in settings} if change["undo"] else settings
words = {True: "immediate", False: "pending-reboot"}
rows = {"modify": [], "reset": []}
for name, value in wanted.items():
    row = {"ParameterName": name, "ApplyMethod": words[not change["restart"]]}
    if value is None:
        rows["reset"].append(row)
    else:
        rows["modify"].append({**row, "ParameterValue": str(value)})
for verb, parameters in rows.items():
    (directory / f"{verb}.json").write_text(json.dumps(parameters) if parameters else "")
PYTHON
for verb in modify reset; do
  if [ -s "$directory/$verb.json" ]; then
    aws rds "$verb-db-parameter-group" --db-parameter-group-name "$group" --parameters "file://$directory/$verb.json" >/dev/null
  fi
done
sleep "${RDS_SECONDS:-15}" # the instance reports the change only after a while
aws rds wait db-instance-available --db-instance-identifier "$instance"
if grep -q '"restart": true' "$directory/change.json"; then
  aws rds reboot-db-instance --db-instance-identifier "$instance" >/dev/null
  aws rds wait db-instance-available --db-instance-identifier "$instance"
fi
