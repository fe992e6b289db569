"""What the tests of studies share."""

import pytest

from dialin.question.plan import plan
from dialin.race.runner import Runner
from dialin.store.store import Store
from dialin.trials.trial import TrialContext
from fixtures.silent_watcher import Silent


@pytest.fixture
def study(tmp_path, spec, clock):
    """Run a study, again in the same directory where called again."""

    def run(trials, spec=spec, watcher=None, directory="study", **others):
        path = tmp_path / directory
        if path.exists():
            store = Store.open(path)
        else:
            path.mkdir()
            store = Store.create(path, spec, created=0, dialin_version="0", command="", host={}, servers={"mysql@9.7.4": {}})
        with store:
            session = store.begin_session()
            laboratory = TrialContext(
                spec=spec,
                plan=plan(spec),
                clock=clock,
                store=store,
                watcher=watcher or Silent(),
                workload=None,
                stage=None,
            )
            verdict = Runner(laboratory, session, trials, **others).run()
            return verdict, store.read()

    return run
