from dataclasses import replace

import pytest
from sqlalchemy.exc import DatabaseError

from dialin.errors import DialinError, InterruptedStudyError, ServerError
from dialin.model.progress import Progress, SessionState, Standing
from dialin.model.trial import Step, Trial, TrialState
from dialin.race.recorder import ProgressWriter
from dialin.store.store import Store
from fixtures.simulated_runs import Killed

TRIAL = Trial(1, 1, 1, 1, "4", TrialState.RUNNING, 5.0)
STANDINGS = {"4": Standing(1, 0, 100.0, 1.1)}


class RecordingWatcher:
    """A watcher that keeps the names of what it is told."""

    def __init__(self):
        self.heard = []

    def __getattr__(self, name):
        return lambda *_: self.heard.append(name)


@pytest.fixture
def store(tmp_path, spec):
    facts = {"created": 1.0, "dialin_version": "0", "command": "", "host": {}, "servers": {}}
    with Store.create(tmp_path, spec, **facts) as made:
        yield made


@pytest.fixture
def kept(store, clock):
    return ProgressWriter(store, clock, RecordingWatcher())


def test_how_far_a_study_has_come_is_in_its_store_at_every_step(store, kept, clock, spec):
    began = clock.now()
    with kept.session():
        assert store.progress() == Progress(SessionState.RUNNING, began)
        clock.sleep(5)
        kept.study_began(spec, 6, 100.0)
        assert store.progress() == Progress(SessionState.RUNNING, began, 6, began + 105)
        kept.trial_began(TRIAL, 90.0)
        clock.sleep(1)
        kept.step_began(TRIAL, Step.BOOT)
        stands = store.progress()
        assert (stands.step, stands.step_began, stands.ends) == (Step.BOOT, began + 6, began + 95)
        kept.trial_ended(TRIAL, STANDINGS)
        assert (store.progress().step, store.progress().standings) == (None, STANDINGS)
    assert store.progress().session is SessionState.FINISHED


def test_progress_of_many_hosts_is_stored_once_a_second(store, kept, clock):
    kept.hosts_changed([f"host-{number}" for number in range(8)])
    trial = replace(TRIAL, host="host-3")
    kept.step_began(trial, Step.BOOT)
    assert store.progress().hosts["host-3"].step is None
    kept.sampled(trial, None)
    assert store.progress().hosts["host-3"].step is None
    clock.sleep(1)
    kept.sampled(trial, None)
    assert store.progress().hosts["host-3"].step is Step.BOOT


def test_who_watched_before_hears_everything_still(store, clock, spec):
    reported = RecordingWatcher()
    kept = ProgressWriter(store, clock, reported)
    kept.study_began(spec, 6, 1.0)
    kept.message("text")
    kept.trial_began(TRIAL, 1.0)
    kept.step_began(TRIAL, Step.BOOT)
    kept.sampled(TRIAL, None)
    kept.trial_ended(TRIAL, {})
    kept.study_ended(None)
    assert reported.heard == ["study_began", "message", "trial_began", "step_began", "sampled", "trial_ended", "study_ended"]


@pytest.mark.parametrize(
    ("error", "session", "reason"),
    [
        (KeyboardInterrupt(), SessionState.STOPPED, ""),
        (InterruptedStudyError("Stopped"), SessionState.STOPPED, ""),
        (ServerError("It died"), SessionState.FAILED, "It died"),
        (ZeroDivisionError("secret"), SessionState.FAILED, "A fault of dialin itself: ZeroDivisionError"),
        (Killed(), SessionState.RUNNING, ""),
    ],
)
def test_how_a_session_ends_is_kept_and_one_that_is_killed_says_no_more(store, kept, error, session, reason):
    with pytest.raises(type(error)), kept.session():
        raise error
    assert (store.progress().session, store.progress().reason) == (session, reason)


def test_a_session_that_goes_on_shows_the_figures_so_far(store, kept, clock):
    with kept.session():
        kept.trial_ended(TRIAL, STANDINGS)
    again = ProgressWriter(store, clock, RecordingWatcher())
    with again.session():
        assert store.progress().standings == STANDINGS
        assert store.progress().session is SessionState.RUNNING


@pytest.mark.parametrize(
    "error",
    [DialinError("The study cannot be written: database or disk is full"), DatabaseError("INSERT", {}, Exception("malformed"))],
)
def test_a_disk_that_is_full_or_broken_ends_no_step_of_a_trial(kept, store, monkeypatch, error):
    def fail(_):
        raise error

    monkeypatch.setattr(store, "save_progress", fail)
    kept.step_began(TRIAL, Step.STOP)
