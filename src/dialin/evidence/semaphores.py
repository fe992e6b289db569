"""Who waited for InnoDB's semaphores, and where, as its status told; and how much threads spun for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from dialin.evidence import measured
from dialin.evidence.measured import Measured
from dialin.model.evidence import Watched
from dialin.model.record import StudyRecord
from dialin.model.why import SemaphorePlace, Semaphores, SpinRow
from dialin.text import listed, visible

SEEN = "semaphore_seen/"
"""What the counters begin with that add up the threads seen waiting at a place, over readings."""

MOST_PLACES = 8

_PROBE = "innodb"
_SPIN = "spin/"
_KINDS = ("mutex", "rw_shared", "rw_excl", "rw_sx")

_UNTOLD = "the server's status tells nothing of semaphores: MariaDB 10.11 and later leave that section empty"
_ZEROS = (
    "the server's counts of spins, rounds and waits for InnoDB's locks stood at zero: MySQL 8.0 and later write zeros whatever "
    "the load"
)


def semaphores(record: StudyRecord) -> Semaphores:
    """Return what InnoDB's status told of semaphores, of every candidate, from the trials of the race that ended well."""
    trials = measured.of(record)
    names = measured.names(trials, record)
    by_name = {name: [one for one in trials if one.trial.candidate == name and _watched(one)] for name in names}
    seen = {name: trials for name, trials in by_name.items() if trials}
    told = {name: own for name, trials in seen.items() if (own := [one for one in trials if _reports_spins(one)])}
    servers = {candidate.name: candidate.server for candidate in record.spec.candidates}
    counting = {servers[name] for name, trials in told.items() if any(_rises(trials))}
    spinning = {name: trials for name, trials in told.items() if servers[name] in counting}
    return Semaphores(
        places=_places(trials),
        spins=[row for kind in _KINDS if (row := _row(kind, spinning))],
        notes=[
            *_note(_UNTOLD, [name for name in seen if name not in told], seen),
            *_note(_ZEROS, [name for name in told if name not in spinning], seen),
        ],
    )


def threads_seen(one: Measured, counter: str) -> float | None:
    """Return how many threads were seen waiting at a place at a reading, on average; None where the server did not tell.

    The first reading of each measured window is what the next is compared with, so what it saw is in no counter. A reading that
    failed is counted among the readings of a probe and saw nobody: where some did, the mean is too low by their share.
    """
    seen = one.watched.get(_PROBE)
    if seen is None or not _reports_spins(one):
        return None
    compared = seen.readings - one.windows
    return seen.counters.get(counter, 0.0) / compared if compared > 0 else None


def _places(trials: Sequence[Measured]) -> list[SemaphorePlace]:
    """Return the places at which most threads waited with some candidate, by the mean of its trials."""
    counters = sorted({name for one in trials for name in _counters(one) if name.startswith(SEEN)})
    places = []
    for counter in counters:
        values: dict[str, list[float]] = {}
        for one in trials:
            if (threads := threads_seen(one, counter)) is not None:
                values.setdefault(one.trial.candidate, []).append(threads)
        waiting = {name: fmean(own) for name, own in values.items()}
        place, _, lock = counter.removeprefix(SEEN).rpartition("/")
        if any(waiting.values()):
            places.append(SemaphorePlace(place=place, lock=lock, waiting=waiting))
    return sorted(places, key=lambda one: -max(one.waiting.values()))[:MOST_PLACES]


def _row(kind: str, spinning: Mapping[str, Sequence[Measured]]) -> SpinRow | None:
    rates = {figure: _rates(f"{_SPIN}{kind}/{figure}", spinning) for figure in ("spins", "rounds", "os_waits")}
    return SpinRow(kind=kind, **rates) if any(any(own.values()) for own in rates.values()) else None


def _rates(counter: str, spinning: Mapping[str, Sequence[Measured]]) -> dict[str, float]:
    rates = {}
    for name, trials in spinning.items():
        own = [seen for one in trials if (seen := one.watched[_PROBE]).seconds > 0 and counter in seen.counters]
        if own:
            rates[name] = sum(seen.counters[counter] for seen in own) / sum(seen.seconds for seen in own)
    return rates


def _note(what: str, names: Sequence[str], seen: Mapping[str, Sequence[Measured]]) -> Iterator[str]:
    """Yield the sentence on what servers do not tell, with the candidates' names where it is not all of them."""
    if names:
        sentence = f"{what[0].upper()}{what[1:]}."
        yield sentence if len(names) == len(seen) else f"With {listed([visible(name) for name in names])}, {what}."


def _watched(one: Measured) -> bool:
    seen = one.watched.get(_PROBE)
    return seen is not None and bool(seen.counters or seen.gauges)


def _reports_spins(one: Measured) -> bool:
    """Return whether the server tells of semaphores: each that does writes its spins, be they zeros."""
    return any(name.startswith((_SPIN, SEEN)) for name in _counters(one))


def _rises(trials: Sequence[Measured]) -> Iterator[float]:
    return (value for one in trials for name, value in _counters(one).items() if name.startswith(_SPIN))


def _counters(one: Measured) -> Mapping[str, float]:
    return one.watched.get(_PROBE, Watched(_PROBE, 0.0)).counters
