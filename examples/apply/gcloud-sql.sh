#!/bin/sh
# Applies the settings of a dialin study to Google Cloud SQL, as database flags; the service restarts where a flag needs it.
#
#   dialin sweep innodb_buffer_pool_size=4G,8G --attach --apply-command '/path/to/gcloud-sql.sh my-instance'
#
# A patch replaces all flags of an instance, so those that were set before are given again. It needs python3 and the gcloud command
# with its account and project.
#
# How it was tested: against a stub of gcloud, which records its calls (tests/examples/test_apply.py).
set -eu
instance=$1 directory=$2 # dialin adds the directory, which is the same in all calls of a study
original=$directory/original.json

if [ ! -e "$original" ]; then
  gcloud sql instances describe "$instance" --format 'json(settings.databaseFlags)' >"$original.new"
  mv "$original.new" "$original" # at once: a copy that is half written must never be brought back
fi
python3 - "$directory" >"$directory/flags.json" <<'PYTHON'
import json, pathlib, sys
directory = pathlib.Path(sys.argv[1])
settings, change, original = (
    json.loads((directory / f"{name}.json").read_text()) for name in ("settings", "change", "original")
)
flags = {flag["name"]: flag["value"] for flag in ((original or {}).get("settings") or {}).get("databaseFlags") or []}
if not change["undo"]:
    flags.update({name: str(value) for name, value in settings.items() if value is not None})
print(json.dumps({"--database-flags": flags} if flags else {"--clear-database-flags": True}))
PYTHON
gcloud sql instances patch "$instance" --quiet --flags-file "$directory/flags.json"
if grep -q '"restart": true' "$directory/change.json" && grep -q '"changes": {}' "$directory/change.json"; then
  gcloud sql instances restart "$instance" --quiet # nothing has changed, so that the service had no reason to restart
fi
