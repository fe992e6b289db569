"""What a verdict's figures rest on is reported in what the load is measured by: seconds, or runs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dialin.model.evidence import Gauge, Watched
from dialin.model.study import Goal
from dialin.model.trial import Sample, Step, Trial, TrialState
from dialin.model.workload import LoadLimit, WorkloadSpec
from dialin.stats.trial_figures import figures
from dialin.stats.trial_fit import fit_trials
from dialin.verdict.caveats import load_notes, lost_notes, odd_trial_notes, steadiness_notes
from fixtures.studies import scan, study
from stats.timed import noisy_study

SECONDS = study({"a": {}, "b": {}})
RUNS = study({"a": {}, "b": {}}, workload=scan())


def measured(tps, *, took=1.0, lost=()):
    """Return a trial, and its figures, of which some samples were lost to the host."""
    samples = [
        Sample(number, number * took, Step.MEASURE, rate, 0, 0, 0, 1.0, 0, 0, gap=took if number in lost else 0.0, seconds=took)
        for number, rate in enumerate(tps, 1)
    ]
    trial = Trial(id=1, block=1, session=1, position=1, candidate="a", state=TrialState.DONE, started=0.0)
    return [trial], {1: figures(samples)}


@pytest.mark.parametrize(("goal", "ratio", "how"), [(Goal.THROUGHPUT, 0.8, "slower"), (Goal.LATENCY, 1.25, "worse")])
def test_the_percentage_of_an_odd_trial_is_that_of_the_goals_own_measure(goal, ratio, how):
    trials = noisy_study(np.random.default_rng(1), {"a": 100.0, "b": 101.0}, 12, 0.000001)
    trials[9] = replace(trials[9], value=0.8 * trials[9].value)
    shown = [SimpleNamespace(candidate=one.candidate, id=number) for number, one in enumerate(trials, 1)]
    (note,) = odd_trial_notes(goal, shown, trials, fit_trials(trials, "ab"))
    assert note.trials == (10,)
    assert note.ratios == (pytest.approx(ratio, abs=0.003),)
    assert f" % {how} than its others" in note.sentence(SECONDS.model_copy(update={"goal": goal}))


@pytest.mark.parametrize(
    ("spec", "took", "reported"),
    [
        (SECONDS, 1.0, "in 2 measured seconds (20.0 %), in 1 trial: they are excluded"),
        (RUNS, 30.0, "during runs of 1 trial, which took 60 seconds (20.0 %): these runs are excluded"),
    ],
)
def test_seconds_and_runs_that_the_host_spoiled_are_counted(spec, took, reported):
    (note,) = lost_notes(*measured([100.0] * 10, took=took, lost=(3, 7)))
    assert reported in note.sentence(spec)
    assert note.seconds == 2 * took


@pytest.mark.parametrize(("spec", "option"), [(SECONDS, "--warmup"), (RUNS, "--workload-option runs=N")])
def test_advice_where_trials_are_not_steady_can_be_followed(spec, option):
    (note,) = steadiness_notes(spec, *measured([100.0 + 5 * second for second in range(60)]))
    assert option in note.sentence(spec)


def test_at_a_rate_it_is_said_that_latency_was_not_steady_and_a_rate_that_was_missed_is_what_to_mend():
    spec = study({"a": {}, "b": {}}, workload=WorkloadSpec(rate=100))
    trials, found = measured([100.0 + 5 * second for second in range(60)])
    (note,) = steadiness_notes(spec, trials, found)
    assert "did not become steady in latency (a)" in note.sentence(spec)
    assert "--warmup" in note.sentence(spec)
    (note,) = steadiness_notes(spec, trials, found, short=[1])
    assert note.sentence(spec).endswith("start a new study with a lower --rate")


@pytest.mark.parametrize(
    ("tps", "said"),
    [
        ([100.0] * 40 + [3.0] * 20, "1 collapsed and did not recover (−97.0 % at most)"),
        (([100.0] * 15 + [10.0] * 15) * 2, "1 switched between two levels (−90.0 % from the higher to the lower one at most)"),
        ([100.0, 300.0, 20.0, 200.0, 10.0, 250.0] * 10, "1 varied too much (CV up to"),
    ],
)
def test_a_trial_that_did_not_keep_a_level_has_its_course_named(tps, said):
    (note,) = steadiness_notes(SECONDS, *measured(tps))
    assert said in note.sentence(SECONDS)
    assert "a longer warm-up does not help" in note.sentence(SECONDS)


@pytest.mark.parametrize(("share", "codes"), [(0.01, []), (0.4, ["not_cold"])])
def test_runs_that_were_to_be_cold_and_were_not_are_a_caveat_that_their_load_declares(share, codes):
    trials, _ = measured([1.0] * 3)
    watched = {1: {"load": Watched("load", 3.0, gauges={"cached_share": Gauge(0.0, share, 0.0, share, share)})}}
    notes = load_notes(RUNS.workload.traits.limits, trials, watched)
    assert [note.code for note in notes] == codes
    assert all("1 trial" in note.sentence(RUNS) and "40.0 %" in note.sentence(RUNS) for note in notes)
    assert load_notes(SECONDS.workload.traits.limits, trials, watched) == []


def test_the_name_of_a_load_may_have_braces():
    limit = LoadLimit(gauge="gap", most=0.01, code="missing", text="go {threads} said nothing for {share} in {trials}")
    watched = {1: {"load": Watched("load", 3.0, gauges={"gap": Gauge(0.4, 0.4, 0.4, 0.4, 0.4)})}}
    (note,) = load_notes([limit], measured([1.0] * 3)[0], watched)
    assert "go {threads} said nothing for 40.0 % in 1 trial" in note.sentence(SECONDS)
