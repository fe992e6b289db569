"""Files that killed and interrupted trials leave are gone when a study goes on; those of finished trials are kept."""

import pytest

from dialin.model.trial import Trial, TrialState
from dialin.store.store import Store
from dialin.store.unfinished_files import remove_unfinished_files
from fixtures.recorded import begun


@pytest.fixture
def store(tmp_path, spec):
    with Store.create(tmp_path, spec, created=1.0, dialin_version="0", command="", host={}, servers={}) as made:
        for state in (TrialState.DONE, TrialState.INTERRUPTED, TrialState.FAILED, TrialState.RUNNING):
            begun(made, Trial(0, 1, 1, 1, "4", state, 5.0))
        yield made


def there(directory):
    return {path.name for path in directory.iterdir()}


def test_half_made_files_and_those_of_interrupted_trials_are_removed(store):
    for directory in (store.directory_of_series, store.directory_of_waits):
        directory.mkdir()
        for number in range(1, 5):
            (directory / f"trial-{number}.parquet").touch()
        for name in ("trial-4.making", "trial-4.part0", "trial-4.part12", "trial-1.notes", "mine.txt"):
            (directory / name).touch()
    store.begin_session()
    remove_unfinished_files(store)
    kept = {"trial-1.parquet", "trial-3.parquet", "trial-1.notes", "mine.txt"}
    assert there(store.directory_of_series) == there(store.directory_of_waits) == kept


def test_a_study_that_left_nothing_is_as_it_was(store, tmp_path):
    before = there(tmp_path)
    remove_unfinished_files(store)
    assert there(tmp_path) == before
