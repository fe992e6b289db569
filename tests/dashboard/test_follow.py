import errno
from dataclasses import replace

import pytest

from dashboard.writing import TRIAL, sample
from dialin.dashboard.follow import SECONDS_SHOWN, Follower, check
from dialin.dashboard.study_state import State
from dialin.errors import UserError
from dialin.model.progress import SessionState
from dialin.model.record import Look
from dialin.model.trial import TrialState
from dialin.store import requests
from dialin.store.lock import CHECKS, Holder, sole_runner
from fixtures import example_studies

HELD = Holder(1234, "boot/42")


@pytest.fixture
def follower(study):
    """One of a study that a live dialin runs, until told otherwise."""
    study.holder = HELD
    return Follower(study.directory, lambda _: study.holder)


def test_a_running_study_is_reported_with_its_trial_and_its_seconds(study, follower):
    study.stands()
    study.begin_trial()
    seen = follower.look()
    assert seen.state is State.RUNNING
    assert seen.board.trial.candidate == "4"
    assert [second.second for second in seen.board.seconds] == [1, 2, 3]
    assert seen.board.block_progress() == "block 1 of about 6"
    assert seen.board.standings["1"].tps == 1000.0
    assert seen.board.seconds_left(1300.0) == 300.0


def test_new_trials_come_along_and_seen_ones_stay(study, follower):
    study.stands()
    study.begin_trial()
    study.store.say(1.0, "first")
    follower.look()
    study.store.add_sample(study.trial.id, sample(4))
    study.store.say(2.0, "second")
    seen = follower.look()
    assert [second.second for second in seen.board.seconds] == [1, 2, 3, 4]
    assert [text for _, text in seen.board.lines] == ["first", "second"]


def test_where_nothing_was_written_nothing_is_read(study, follower, monkeypatch):
    study.stands()
    follower.look()
    monkeypatch.setattr(follower, "_read", lambda _: pytest.fail("it was read again"))
    assert follower.look().state is State.RUNNING


def test_a_new_trial_begins_with_no_seconds_of_the_last_one(study, follower):
    study.stands()
    study.begin_trial()
    follower.look()
    study.end_trial()
    study.stands(step=None)
    assert [second.second for second in follower.look().board.seconds] == [1, 2, 3], "between trials the last one is shown"
    study.begin_trial(replace(TRIAL, candidate="16"), seconds=1)
    study.stands()
    seen = follower.look()
    assert (seen.board.trial.candidate, len(seen.board.seconds)) == ("16", 1)


def test_of_a_long_trial_the_last_minutes_are_shown(study, follower):
    study.stands()
    study.begin_trial(seconds=SECONDS_SHOWN + 5)
    assert [second.second for second in follower.look().board.seconds][:: SECONDS_SHOWN - 1] == [6, SECONDS_SHOWN + 5]


def test_a_study_whose_process_is_gone_is_dead_at_the_next_look(study, follower):
    study.stands()
    study.begin_trial()
    assert follower.look().state is State.RUNNING
    study.holder = None
    seen = follower.look()
    assert seen.state is State.DEAD
    assert seen.board.trial.candidate == "4", "it is told in which trial it died"


def test_a_study_that_is_taken_up_between_two_questions_is_not_called_dead(study):
    study.stands()
    answers = iter([None, HELD])
    follower = Follower(study.directory, lambda _: next(answers))
    assert follower.look().state is State.READYING


def test_who_only_checks_whether_a_study_could_go_on_does_not_run_it(study, follower):
    study.stands()
    study.holder = Holder(1234, CHECKS)
    assert follower.holder() is None
    assert follower.look().state is State.DEAD


def test_a_study_runs_though_nobody_can_read_who_its_process_is(study, follower):
    study.stands()
    study.holder = Holder(1234)
    assert follower.look().state is State.RUNNING


def test_where_it_cannot_be_reported_who_runs_a_study_nobody_does(study):
    def stale(_):
        raise OSError(errno.ESTALE, "Stale file handle")

    study.stands()
    assert Follower(study.directory, stale).holder() is None
    assert Follower(study.directory, stale).look().state is State.DEAD


def test_a_report_of_before_is_not_taken_for_the_one_of_now_though_all_was_forgotten(study, follower):
    study.stands()
    study.begin_trial()
    before = follower.look().key
    study.end_trial()
    study.stands(step=None)
    follower.forget()
    assert follower.look().key != before


@pytest.mark.parametrize(
    ("session", "state"),
    [(SessionState.STOPPED, State.STOPPED), (SessionState.FAILED, State.FAILED), (SessionState.FINISHED, State.FINISHED)],
)
def test_how_a_study_ended_is_reported_as_it_wrote_it_down(study, follower, session, state):
    study.stands(session=session, step=None)
    study.holder = None
    assert follower.look().state is state


def test_a_study_that_is_still_to_come_is_awaited(tmp_path):
    follower = Follower(tmp_path / "none")
    assert follower.look().state is State.READYING
    assert follower.look().key == ()


def test_its_report_is_another_one_once_a_trial_ended_or_the_study_did_and_not_before(study, follower):
    study.stands()
    study.begin_trial()
    before = follower.look().key
    study.store.add_sample(study.trial.id, sample(4))
    study.store.say(1.0, "a line")
    assert follower.look().key == before
    study.end_trial()
    study.stands(step=None)
    after = follower.look().key
    assert after != before
    study.stands(session=SessionState.FINISHED)
    study.holder = None
    assert follower.look().key != after


def test_that_it_is_to_stop_after_its_block_is_seen_though_nothing_else_happens(study, follower):
    study.stands()
    assert not follower.look().stops
    requests.ask_to_stop(study.directory)
    assert follower.look().stops
    requests.withdraw_stop(study.directory)
    assert not follower.look().stops


def test_the_report_of_a_study_is_there_before_its_first_trial_ended(study, follower):
    assert "No verdict yet" in follower.report().title
    study.begin_trial()
    made = follower.report()
    assert "No verdict yet" in made.title
    assert made.data["charts"]


def test_a_lock_that_is_really_held_is_seen_and_hinders_nobody(study):
    follower = Follower(study.directory)
    study.stands()
    assert follower.look().state is State.DEAD
    with sole_runner(study.directory, "boot/1"):
        assert follower.look().state is State.RUNNING
    assert follower.look().state is State.DEAD


def test_a_study_of_an_older_dialin_is_reported_by_its_verdict(study, follower):
    study.holder = None
    assert follower.look().state is State.RESTING
    follower.forget()
    assert follower.look().state is State.RESTING


def test_a_directory_without_a_study_is_refused(tmp_path):
    with pytest.raises(UserError, match="no directory"):
        check(tmp_path / "none")
    with pytest.raises(UserError, match="holds no dialin study"):
        check(tmp_path)


def test_interrupted_trials_count_as_ended(study, follower):
    study.stands()
    study.begin_trial()
    before = follower.look().key
    study.store.save_trial(replace(study.trial, state=TrialState.INTERRUPTED))
    study.stands(session=SessionState.STOPPED)
    seen = follower.look()
    assert seen.key != before
    assert seen.board.trial is None


def test_the_verdict_is_read_when_it_comes(study, follower):
    study.stands()
    follower.look()
    look = Look(1, 3, trials=9)
    study.store.add_look(look)
    study.store.save_verdict_of(look, example_studies.winner().verdict, decided=True)
    study.stands(session=SessionState.FINISHED)
    assert follower.look().board.verdict.headline == example_studies.winner().verdict.headline


def test_a_study_that_is_being_made_is_awaited_and_one_that_is_damaged_is_reported(tmp_path):
    making = tmp_path / "making"
    making.mkdir()
    (making / "study.db").touch()
    held = Follower(making, lambda _: HELD)
    assert held.look().state is State.READYING
    with pytest.raises(UserError, match="was not written by dialin"):
        Follower(making, lambda _: None).look()


def test_looking_leaves_no_trace_in_the_directory(study):
    study.stands()
    study.begin_trial()
    study.store.close()
    before = {path.name: path.read_bytes() for path in study.directory.iterdir()}
    follower = Follower(study.directory, lambda _: None)
    assert follower.look().state is State.DEAD
    follower.report()
    assert {path.name: path.read_bytes() for path in study.directory.iterdir()} == before
