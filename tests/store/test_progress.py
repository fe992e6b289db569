"""What those who look on ask of the store of a study that runs."""

import pytest

from dialin.model.progress import Progress, SessionState, Standing
from dialin.model.record import Look
from dialin.model.trial import Sample, Step, Trial, TrialState
from dialin.sentences.log_sentences import log_text
from dialin.store.store import Store
from fixtures import example_studies
from fixtures.recorded import begun

PROGRESS = Progress(SessionState.RUNNING, 1.0, 6, 90.5, Step.MEASURE, 8.25, {"1": Standing(2, 1, 99.5, None, out=True)}, "why")


@pytest.fixture
def stores(tmp_path, spec):
    """The store of a study twice: of who runs it, and of who looks on."""
    facts = {"created": 1.0, "dialin_version": "0", "command": "dialin sweep", "host": {}, "servers": {"mysql@9.7.4": {}}}
    with Store.create(tmp_path, spec, **facts) as own, Store.open(tmp_path) as other:
        yield own, other


def test_progress_is_read_back_as_it_was_written_and_the_newest_stands(stores):
    own, other = stores
    assert other.progress() is None
    own.save_progress(Progress(SessionState.RUNNING, 1.0))
    assert other.progress() == Progress(SessionState.RUNNING, 1.0)
    own.save_progress(PROGRESS)
    assert other.progress() == PROGRESS


def test_lines_and_samples_are_reported_from_where_one_stands(stores):
    own, other = stores
    trial = begun(own, Trial(0, 1, 1, 1, "4", TrialState.RUNNING, 5.0))
    samples = [Sample(n, 6.0 + n, Step.MEASURE, 100.0, 1.0, 1.0, 1.0, 20.0, 0.0, 0.0) for n in (1, 2, 3)]
    for number, sample in enumerate(samples):
        own.add_sample(trial.id, sample)
        own.say(float(number), f"line {number}")
    assert other.samples_of(trial.id) == samples
    assert other.samples_of(trial.id, 1) == samples[1:]
    (first, _), (second, line), _ = other.log_after(0)
    assert log_text(line) == "line 1"
    assert [log_text(line) for _, line in other.log_after(first)] == ["line 1", "line 2"]
    assert [log_text(line) for _, line in other.log_after(second)] == ["line 2"]


def test_the_verdict_is_there_once_it_was_kept(stores):
    own, other = stores
    assert other.verdict() is None
    look = Look(1, 3, trials=9)
    own.add_look(look)
    own.save_verdict_of(look, example_studies.winner().verdict, decided=True)
    assert other.verdict() == example_studies.winner().verdict
