"""Trials for a profile: after the verdict, of the baseline and the choice, and never a part of it."""

from dataclasses import replace

import pytest

from dialin.model.study import Until
from dialin.model.trial import Purpose
from dialin.preflight import machine_noise
from dialin.question.plan import plan
from dialin.race.budget import MAY_OVERRUN
from dialin.trials.events import Evidence
from fixtures.profiles import PROFILE
from fixtures.simulated_runs import FORCED, Killed
from fixtures.simulated_trials import SimulatedTrials


class Trials(SimulatedTrials):
    """Trials of which the profiled ones are slow."""

    def run(self, request, trial):
        slow = replace(self, levels={name: level / 10 for name, level in self.levels.items()})
        yield from SimulatedTrials.run(slow if trial.purpose is Purpose.PROFILE else self, request, trial)

    def evidence(self, trial):
        return Evidence(profile=PROFILE) if trial.purpose is Purpose.PROFILE else Evidence()


def trials(**others):
    return Trials(**{"levels": {"1": 1000, "4": 1300, "16": 900}, "in_force": FORCED, **others})


@pytest.fixture
def study(study, spec):
    def run(made, directory="study", **changes):
        return study(made, spec.model_copy(update={"profile": True, **changes}), directory=directory)

    return run


def of(record, purpose):
    return [trial for trial in record.trials if trial.purpose is purpose]


def test_the_baseline_and_the_choice_are_profiled_after_all_other_trials(study):
    verdict, record = study(trials())
    last = of(record, Purpose.PROFILE)
    assert record.trials[-2:] == last
    assert [trial.candidate for trial in last] == ["1", "4"]
    assert verdict.recommended_candidate == "4"
    assert record.profiles == {trial.id: PROFILE for trial in last}


def test_where_the_baseline_is_the_choice_the_candidate_that_differs_most_is_profiled(study):
    _, record = study(trials(levels={"1": 1000, "4": 980, "16": 700}))
    assert [trial.candidate for trial in of(record, Purpose.PROFILE)] == ["1", "16"]


def test_every_candidate_is_profiled_on_request_and_has_its_room_in_the_budget(study, spec):
    asked = {"profile": False, "profile_candidates": True}
    _, record = study(trials(levels={"1": 1000, "4": 1002, "16": 1000}, noise=0.03), seed=2, until=Until.BEST, **asked)
    assert [trial.candidate for trial in of(record, Purpose.PROFILE)] == ["1", "4", "16"]
    assert sum(sum(trial.steps.values()) for trial in record.trials) <= MAY_OVERRUN * 60 * spec.minutes


def test_the_verdict_and_the_noise_are_the_same_as_without_them(study):
    with_profiles, record = study(trials(), "with")
    without, clean = study(trials(), "without", profile=False)
    own = {"minutes_of_wall_clock"}
    assert with_profiles.model_dump(exclude=own) == without.model_dump(exclude=own)
    assert of(clean, Purpose.PROFILE) == []
    assert machine_noise.study_noise(record) == machine_noise.study_noise(clean)


def test_a_study_killed_in_one_resumes_with_it_and_repeats_none(study):
    def kill(trial):
        if trial.purpose is Purpose.PROFILE and trial.candidate == "4":
            raise Killed

    with pytest.raises(Killed):
        study(trials(before=kill))
    _, record = study(trials())
    assert [trial.candidate for trial in of(record, Purpose.PROFILE)] == ["1", "4", "4"]
    _, again = study(trials())
    assert len(again.trials) == len(record.trials)


def test_the_race_leaves_them_room_in_the_budget(study, spec):
    _, record = study(trials(levels={"1": 1000, "4": 1002, "16": 1000}, noise=0.03), seed=2, until=Until.BEST)
    assert len(of(record, Purpose.PROFILE)) == 2
    assert sum(sum(trial.steps.values()) for trial in record.trials) <= MAY_OVERRUN * 60 * spec.minutes


def test_the_plan_keeps_time_for_them(spec):
    long = spec.model_copy(update={"profile": True, "measure": None, "warmup": None, "minutes": 60})
    count, allowed = len(spec.candidates), plan(long)
    assert (allowed.blocks * count + 2) * allowed.trial_seconds <= 3600
