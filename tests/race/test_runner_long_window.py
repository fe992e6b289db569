"""A choice by SET and the baseline run once for minutes: a gain that does not last is not recommended."""

from dataclasses import replace

import pytest

from dialin.model.study import Switch
from dialin.model.trial import Purpose, Step
from dialin.model.verdict import Outcome, ReasonCode
from dialin.sentences.headline import headline
from fixtures.simulated_runs import FORCED, Killed
from fixtures.simulated_trials import SimulatedTrials


class Trials(SimulatedTrials):
    """Trials in which the throughput of 4 falls to a share of it for as long as a long window lasts."""

    lasts = 1.0

    def run(self, request, trial):
        levels = {**self.levels, "4": self.levels["4"] * self.lasts} if trial.purpose is Purpose.LONG else self.levels
        yield from SimulatedTrials.run(replace(self, levels=levels), request, trial)


def trials(lasts=1.0):
    made = Trials({"1": 1000, "4": 1100, "16": 1000}, in_force=FORCED)
    made.lasts = lasts
    return made


@pytest.fixture
def by_set(spec):
    return spec.model_copy(update={"switch": Switch.SET, "minutes": 30.0})


def long_windows(record):
    return [trial for trial in record.trials if trial.purpose is Purpose.LONG]


def test_a_gain_that_lasts_is_recommended_after_a_long_window_of_both(study, by_set):
    verdict, record = study(trials(), by_set)
    assert [trial.candidate for trial in long_windows(record)] == ["1", "4"]
    assert {trial.steps[Step.MEASURE] for trial in long_windows(record)} == {225.0}
    assert verdict.recommended_candidate == "4"


def test_a_gain_that_turns_into_a_loss_is_not_claimed_and_the_sentence_says_when(study, by_set):
    verdict, record = study(trials(lasts=0.8), by_set)
    assert (verdict.verdict, verdict.recommended_candidate) == (Outcome.INCONCLUSIVE, "1")
    assert verdict.reason_code is ReasonCode.LATE_EFFECT
    assert "--warmup 113" in verdict.reason
    assert "does not keep its gain" in headline(record.spec, verdict)
    (note,) = [note for note in verdict.confounds if note.code == "late_effect"]
    assert note.data["ratio"] > 1 > note.data["late_ratio"]
    assert "in a window of 3 min 45 s, after its first 1 min 52 s: an effect comes late" in note.text


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"switch": Switch.RESTART}, id="each trial starts the server"),
        pytest.param({"minutes": 6.0, "measure": 20.0}, id="the budget is small"),
    ],
)
def test_a_study_has_none_where_it_would_show_nothing_new_or_cost_too_much(study, by_set, changes):
    _, record = study(trials(), by_set.model_copy(update=changes))
    assert not long_windows(record)


def test_where_the_baseline_stays_there_is_none(study, by_set):
    made = Trials({"1": 1100, "4": 1000, "16": 1000}, in_force=FORCED)
    _, record = study(made, by_set)
    assert not long_windows(record)


def test_a_study_that_is_killed_in_the_second_one_goes_on_with_it(study, by_set):
    made = trials(lasts=1.1)

    def kill(trial):
        if trial.purpose is Purpose.LONG and trial.candidate == "4":
            raise Killed

    made.before = kill
    with pytest.raises(Killed):
        study(made, by_set)
    made.before = lambda _: None
    verdict, record = study(made, by_set)
    completed = [trial.candidate for trial in long_windows(record) if trial.has_ended]
    assert completed == ["1", "1", "4"], "windows of different runs are not compared"
    assert verdict.recommended_candidate == "4"


def test_a_loss_is_measured_again_in_the_other_order(study, by_set):
    _, record = study(trials(lasts=0.8), by_set.model_copy(update={"minutes": 60.0}))
    assert [trial.candidate for trial in long_windows(record)] == ["1", "4", "4", "1"]


def test_a_study_that_is_killed_before_its_windows_are_judged_judges_them_when_it_resumes(study, by_set, monkeypatch):
    made = trials(lasts=0.8)
    monkeypatch.setattr("dialin.race.runner.Runner._judge_again", lambda _: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        study(made, by_set)
    monkeypatch.undo()
    verdict, _ = study(made, by_set)
    assert verdict.reason_code is ReasonCode.LATE_EFFECT
