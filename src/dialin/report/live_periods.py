"""The periods of a study on live traffic, as a report shows them."""

from __future__ import annotations

from dataclasses import dataclass

from dialin.model.cause import Fault
from dialin.model.record import StudyRecord
from dialin.model.traffic import TrafficPeriod, fixed_mix, of_watched
from dialin.model.trial import Purpose, Trial, TrialState


@dataclass(frozen=True, slots=True)
class LivePeriod:
    """A period of a study on live traffic: one trial.

    Attributes:
        traffic: what the server did in its measured seconds; None where it was not completed.
        latency: mean latency in the mix of statements of all completed periods, ms; None where it was not completed.
    """

    trial: Trial
    traffic: TrafficPeriod | None
    latency: float | None

    @property
    def is_tripped(self) -> bool:
        """Whether the guard restored the baseline during the period."""
        return self.trial.failure is not None and self.trial.failure.fault is Fault.GUARD


def live_periods(record: StudyRecord) -> list[LivePeriod]:
    """Return every period of the race that has ended, in order of time."""
    ended = [t for t in record.trials if t.purpose is Purpose.RACE and t.state is not TrialState.RUNNING]
    traffic_of = {t.id: of_watched(record.watched.get(t.id, {})) if t.state is TrialState.DONE else None for t in ended}
    mix = fixed_mix(traffic for traffic in traffic_of.values() if traffic is not None)
    return [
        LivePeriod(trial, traffic, traffic.totals.latency(mix) if traffic is not None else None)
        for trial in ended
        for traffic in (traffic_of[trial.id],)
    ]
