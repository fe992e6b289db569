import pytest

from dialin.study.analysis.judge import Request, analyze
from dialin.study.analysis.logs import load
from dialin.study.analysis.sort import Rule
from study.analysis.judged import BY
from study.analysis.made import write


@pytest.fixture
def analyzed(tmp_path):
    """Analyze logs, by name, or those of the call before; sorted by `bpi` where nothing else is asked."""
    directories = []

    def call(logs=None, **asked):
        rule = {key: asked.pop(key) for key in ("by", "table", "ignored") if key in asked}
        if logs is not None:
            directories.append(write(tmp_path / str(len(directories)), **logs))
        folder = load(directories[-1:])
        return analyze(folder, Request(rule=Rule(**(rule or {"by": BY})), **asked))

    return call
