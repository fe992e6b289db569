"""What the tests of studies share."""

import pytest

from dialin.question.plan import plan
from dialin.race.runner import Runner
from dialin.store.store import Store
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
            store.set_spec(spec)
            session = store.begin_session()
            trials.clock = clock
            verdict = Runner(store, clock, watcher or Silent(), plan(store.spec), trials, session, **others).run()
            return verdict, store.read()

    return run
