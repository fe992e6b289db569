#!/bin/sh
# Applies the settings of a dialin study through the custom resource of an operator, whose configuration is a text.
#
#   dialin sweep innodb_buffer_pool_instances=1,4 --attach --apply-command \
#     '/path/to/kubectl-cr.sh perconaxtradbcluster/prod .spec.pxc.configuration statefulset/prod-pxc databases'
#
# For the operator of MariaDB the path is .spec.myCnf. The operator changes the stateful set, whose rollout is waited for. It needs
# python3, which writes JSON, and a kubectl that may patch the resource.
#
# How it was tested: against a stub of kubectl, which records its calls (tests/examples/test_apply.py).
set -eu
resource=$1 path=$2 rollout=$3 namespace=$4 directory=$5 # dialin adds the directory, which is the same in all calls of a study
original=$directory/original.cnf

if [ ! -e "$original" ]; then
  kubectl --namespace "$namespace" get "$resource" --output "jsonpath={$path}" >"$original.new"
  mv "$original.new" "$original" # at once: a copy that is half written must never be brought back
fi
if grep -q '"undo": true' "$directory/change.json"; then
  cp "$original" "$directory/wanted.cnf"
else
  { cat "$original"; echo; cat "$directory/settings.cnf"; } >"$directory/wanted.cnf"
fi
python3 -c '
import json, sys
value = open(sys.argv[2]).read()
for key in reversed(sys.argv[1].strip(".").split(".")):
    value = {key: value}
print(json.dumps(value))' "$path" "$directory/wanted.cnf" >"$directory/patch.json" # no argument: the text may hold secrets
kubectl --namespace "$namespace" patch "$resource" --type merge --patch-file "$directory/patch.json"
if grep -q '"restart": true' "$directory/change.json" && cmp -s "$original" "$directory/wanted.cnf" && [ ! -e "$directory/applied" ]; then
  kubectl --namespace "$namespace" rollout restart "$rollout" # the text is the same, so the operator has nothing to do
fi
touch "$directory/applied"
sleep "${OPERATOR_SECONDS:-10}" # the operator needs a moment to change the stateful set
kubectl --namespace "$namespace" rollout status "$rollout" --timeout 550s
