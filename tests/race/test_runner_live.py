"""Studies on live traffic, without a server: what the runner does beside the race."""

import random
from dataclasses import dataclass, field, replace

import pytest

from dialin.model.record import LogCode
from dialin.model.traffic import as_watched
from dialin.model.trial import Costs, Purpose, Step, TrialState
from dialin.model.verdict import Outcome
from dialin.store.store import Store
from dialin.trials.events import Evidence, Sampled, StepBegan, TrialBegan, TrialEnded
from fixtures.live_studies import MEASURED, VARIABLE, WASHOUT, Live, live_sample, live_second, live_spec
from fixtures.simulated_runs import Killed
from fixtures.simulated_trials import SimulatedTrials

SLOW = Live(effects={"400": 0.5}, settling=6.0)
"""An effect that takes a whole period to settle."""
ENOUGH = 3 * MEASURED


@dataclass(slots=True)
class Periods(SimulatedTrials):
    """Periods of a live server; `washouts` are those that they were asked for with."""

    live: Live = SLOW
    washouts: list[float] = field(default_factory=list)

    def run(self, request, trial):
        self.ran.append(trial)
        yield TrialBegan(trial)
        self.before(trial)
        spec, rng = request.spec, random.Random(f"{trial.block}/{trial.position}")
        washout = spec.place.washout
        if trial.purpose is Purpose.RACE:
            self.washouts.append(washout)
        yield StepBegan(Step.MEASURE)
        self.clock.sleep(washout)
        mood, seconds = 1 + rng.gauss(0, 0.01), []
        for second in range(1, 1 + round(request.measure or spec.measure)):
            self.clock.sleep(1)
            seconds.append(live_second(rng, self.live, trial.candidate, 0.5, mood, washout + second - 0.5))
            yield Sampled(live_sample(seconds[-1], second, self.clock.now(), Step.MEASURE))
        ended = replace(
            trial,
            state=TrialState.DONE,
            steps={Step.WARM_UP: washout, Step.MEASURE: float(len(seconds))},
            in_force={VARIABLE: trial.candidate},
            costs=Costs(len(seconds), 0.01, 0.4, 1.0, 2, 2),
        )
        yield TrialEnded(ended, Evidence(watched=(as_watched(seconds, washout),)))


@pytest.fixture
def run(study):
    """Run a study of an effect that settles slowly."""

    def run_periods(minutes=60, spec=None, **how):
        periods, new = Periods({}, **how), live_spec(SLOW)
        new = new.model_copy(update={"minutes": minutes, "place": new.place.model_copy(update={"observe": 30})})
        return periods, *study(periods, spec or new)

    return run_periods


def lengthened(record):
    return [line.figures for line in record.log if line.code is LogCode.WASHOUT_LENGTHENED]


def test_a_study_in_which_an_effect_settles_slowly_goes_on_with_a_longer_washout_and_finds_it(run):
    periods, verdict, record = run()
    assert lengthened(record) == [{"before": WASHOUT, "washout": ENOUGH}]
    first = periods.washouts.count(WASHOUT)
    assert periods.washouts == [WASHOUT] * first + [ENOUGH] * (len(periods.washouts) - first)
    assert (verdict.live.washout, verdict.live.shorter) == (ENOUGH, first)
    ratio = verdict.candidates[1].goal_ratio
    assert ratio.low < 0.5 < ratio.high
    assert (verdict.verdict, verdict.recommended_candidate) == (Outcome.WINNER, "400")


def test_one_that_is_resumed_keeps_the_longer_washout(run, tmp_path):
    def kill(trial):
        if trial.id == 45:
            raise Killed

    with pytest.raises(Killed):
        run(before=kill)
    with Store.open(tmp_path / "study") as store:
        stored = store.spec
    periods, verdict, record = run(spec=stored)
    assert set(periods.washouts) == {ENOUGH}
    assert len(lengthened(record)) == 1
    assert verdict.recommended_candidate == "400"


def test_a_budget_that_holds_no_comparison_with_a_longer_washout_is_spent_as_it_was_planned(run):
    periods, verdict, record = run(minutes=10)
    assert lengthened(record) == []
    assert set(periods.washouts) == {WASHOUT}
    assert verdict.verdict is Outcome.INCONCLUSIVE
    (note,) = [note for note in verdict.warnings if note.code == "carries_over"]
    assert f"--warmup {ENOUGH}" in note.text
