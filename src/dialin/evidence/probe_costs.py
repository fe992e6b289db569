"""What watching itself cost."""

from __future__ import annotations

from dialin.evidence import measured
from dialin.model.evidence import Watched
from dialin.model.record import StudyRecord
from dialin.model.why import ProbeCost


def probe_costs(record: StudyRecord) -> list[ProbeCost]:
    """Return what each probe cost over all trials of the race that it watched, the longest wait first."""
    by_probe: dict[str, list[Watched]] = {}
    for one in measured.of(record):
        for name, watched in one.watched.items():
            if watched.readings or watched.notes:  # gauges that a load reports took no reading
                by_probe.setdefault(name, []).append(watched)
    costs = [_cost(name, watched) for name, watched in by_probe.items()]
    return sorted(costs, key=lambda one: -one.waited_ms_per_s)


def _cost(name: str, watched: list[Watched]) -> ProbeCost:
    seconds = sum(one.seconds for one in watched)
    return ProbeCost(
        probe=name,
        readings=sum(one.readings for one in watched),
        waited_ms_per_s=1000 * sum(one.waited for one in watched) / seconds if seconds > 0 else 0.0,
        cpu_ms_per_s=1000 * sum(one.cpu for one in watched) / seconds if seconds > 0 else 0.0,
        notes=list(dict.fromkeys(note for one in watched for note in one.notes)),
    )
