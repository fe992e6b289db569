import pytest

from dialin.logs.analyze_runs import analyze
from dialin.logs.assignment import AssignmentRule
from dialin.logs.judgement import Request
from dialin.logs.log_folder import load
from fixtures.analyses import BY
from fixtures.sysbench_logs import write


@pytest.fixture
def analyzed(tmp_path):
    """Analyze logs, by name, or those of the call before; sorted by `bpi` where nothing else is asked."""
    directories = []

    def call(logs=None, **asked):
        rule = {key: asked.pop(key) for key in ("by", "table", "ignored") if key in asked}
        if logs is not None:
            directories.append(write(tmp_path / str(len(directories)), **logs))
        folder = load(directories[-1:])
        return analyze(folder, Request(rule=AssignmentRule(**(rule or {"by": BY})), **asked))

    return call
