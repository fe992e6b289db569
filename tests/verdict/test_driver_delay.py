"""A candidate is neither better nor worse for what the load driver itself added to its latency."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dialin.model.evidence import Gauge, Watched
from dialin.model.trial import TrialState
from dialin.model.verdict import Outcome, ReasonCode
from dialin.sentences.headline import headline
from dialin.verdict.reach_verdict import reach_verdict
from fixtures import example_studies


def with_shares(record, share_of):
    """Return the study with the driver's share of each trial's latency, by the trial's candidate."""
    done = [trial for trial in record.trials if trial.state is TrialState.DONE]
    gauges = {trial.id: Gauge(*[share_of(trial.candidate)] * 5) for trial in done}
    load = {trial: {"load": Watched("load", 60.0, gauges={"driver_share_goal": gauge})} for trial, gauge in gauges.items()}
    return replace(record, watched=load)


@pytest.fixture(scope="module")
def by_latency():
    return example_studies.by_latency()


def test_a_difference_that_goes_with_the_drivers_share_is_not_claimed(by_latency):
    judged = reach_verdict(by_latency).verdict
    assert judged.verdict is not Outcome.INCONCLUSIVE
    latencies = {one.name: one.latency_ms.mean for one in judged.candidates if one.latency_ms}
    fastest = min(latencies.values())
    # Without the driver, all candidates would be as fast as the fastest.
    verdict = reach_verdict(with_shares(by_latency, lambda name: 1 - fastest / latencies[name])).verdict
    assert verdict.verdict is Outcome.INCONCLUSIVE
    assert verdict.recommended_candidate == verdict.baseline
    assert verdict.reason_code is ReasonCode.DRIVER_DELAYED
    assert "driver" in headline(by_latency.spec, verdict)
    assert "--load-cpus" in verdict.reason
    (note,) = [note for note in verdict.confounds if note.code == "driver_delay"]
    assert "without that the candidates compare differently" in note.text


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_share_that_is_the_same_for_all_explains_nothing(by_latency, share):
    judged, shared = (reach_verdict(record).verdict for record in (by_latency, with_shares(by_latency, lambda _: share)))
    assert (shared.verdict, shared.winners, shared.confounds) == (judged.verdict, judged.winners, judged.confounds)


def test_a_study_of_throughput_does_not_depend_on_it():
    record = example_studies.winner()
    shared = with_shares(record, lambda name: 0.9 if name == record.spec.baseline else 0.0)
    assert reach_verdict(shared).verdict.verdict is reach_verdict(record).verdict.verdict
