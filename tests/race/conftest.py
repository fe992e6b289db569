"""What the tests of studies share."""

import pytest

from fixtures.simulated_runs import run_study


@pytest.fixture
def study(tmp_path, spec, clock):
    """Run a study, again in the same directory where called again."""

    def run(trials, spec=spec, watcher=None, directory="study", **others):
        return run_study(tmp_path / directory, spec, trials, clock, watcher, **others)

    return run
