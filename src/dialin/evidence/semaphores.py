"""Waits for InnoDB's semaphores by place, and spins by kind of lock, from InnoDB's status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from dialin.evidence import measured
from dialin.evidence.measured import FigureOf, MeasuredTrial, by_candidate, values_of
from dialin.model.evidence import Watched
from dialin.model.record import StudyRecord
from dialin.model.why import SemaphorePlace, Semaphores, SpinRow
from dialin.text import listed, visible

SEEN_PREFIX = "semaphore_seen/"
"""The prefix of the counters that add up, over readings, the threads that waited at a place."""

MOST_PLACES = 8

LOCK_KINDS = {"mutex": "mutexes", "rw_shared": "shared locks", "rw_excl": "exclusive locks", "rw_sx": "shared-exclusive locks"}
"""The name of each kind of lock in a sentence."""

_PROBE = "innodb"
_SPIN = "spin/"

_NOT_REPORTED = "the server's status does not report semaphores: MariaDB 10.11 and later leave that section empty"
_ZEROS = (
    "the server's counts of spins, rounds and waits for InnoDB's locks were zero: MySQL 8.0 and later write zeros whatever "
    "the load"
)


def semaphores(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> Semaphores:
    """Return what InnoDB's status reports on semaphores, by candidate, from the completed trials of the race."""
    names = measured.names(trials, record)
    watched = _by_name([one for one in trials if _is_watched(one)], names)
    reporting = _by_name([one for one in trials if _reports_spins(one)], names)
    servers = {candidate.name: candidate.server for candidate in record.spec.candidates}
    counting = {servers[name] for name, trials in reporting.items() if any(_rises(trials))}
    spinning = {name: trials for name, trials in reporting.items() if servers[name] in counting}
    return Semaphores(
        places=_places(trials, names),
        spins=[row for kind in LOCK_KINDS if (row := _row(kind, spinning))],
        notes=[
            *_note(_NOT_REPORTED, [name for name in watched if name not in reporting], len(watched)),
            *_note(_ZEROS, [name for name in reporting if name not in spinning], len(watched)),
        ],
    )


def waiting_threads(counter: str) -> FigureOf:
    """Return the mean number of threads waiting at a place per reading; None where the server does not report semaphores.

    Counters hold the rises from one reading to the next, so the threads of the first reading of each measured window are in no
    counter, and those readings are not counted. A failed reading is counted but reports no threads: where readings failed, the
    mean is too low by their share.
    """

    def figure(one: MeasuredTrial) -> float | None:
        watched = one.watched.get(_PROBE)
        if watched is None or not _reports_spins(one):
            return None
        compared = watched.readings - one.windows
        return watched.counters.get(counter, 0.0) / compared if compared > 0 else None

    return figure


def _places(trials: Sequence[MeasuredTrial], names: Sequence[str]) -> list[SemaphorePlace]:
    """Return the places with the most waiting threads of any candidate, by the mean over its trials."""
    counters = sorted({name for one in trials for name in _counters(one) if name.startswith(SEEN_PREFIX)})
    places = []
    for counter in counters:
        threads = by_candidate(values_of(waiting_threads(counter), trials), trials, names)
        waiting = {name: fmean(values) for name, values in threads.items()}
        place, _, lock = counter.removeprefix(SEEN_PREFIX).rpartition("/")
        if any(waiting.values()):
            places.append(SemaphorePlace(place=place, lock=lock, waiting=waiting))
    return sorted(places, key=lambda one: -max(one.waiting.values()))[:MOST_PLACES]


def _row(kind: str, spinning: Mapping[str, Sequence[MeasuredTrial]]) -> SpinRow | None:
    rates = {figure: _rates(f"{_SPIN}{kind}/{figure}", spinning) for figure in ("spins", "rounds", "os_waits")}
    return SpinRow(kind=kind, **rates) if any(any(by_name.values()) for by_name in rates.values()) else None


def _rates(counter: str, spinning: Mapping[str, Sequence[MeasuredTrial]]) -> dict[str, float]:
    rates = {}
    for name, trials in spinning.items():
        readings = [one.watched[_PROBE] for one in trials]
        used = [reading for reading in readings if reading.seconds > 0 and counter in reading.counters]
        if used:
            rates[name] = sum(reading.counters[counter] for reading in used) / sum(reading.seconds for reading in used)
    return rates


def _note(what: str, names: Sequence[str], count: int) -> Iterator[str]:
    if names:
        sentence = f"{what[0].upper()}{what[1:]}."
        yield sentence if len(names) == count else f"With {listed([visible(name) for name in names])}, {what}."


def _by_name(trials: Sequence[MeasuredTrial], names: Sequence[str]) -> dict[str, list[MeasuredTrial]]:
    grouped = {name: [one for one in trials if one.trial.candidate == name] for name in names}
    return {name: of_name for name, of_name in grouped.items() if of_name}


def _is_watched(one: MeasuredTrial) -> bool:
    watched = one.watched.get(_PROBE)
    return watched is not None and bool(watched.counters or watched.gauges)


def _reports_spins(one: MeasuredTrial) -> bool:
    # A server that reports semaphores always writes the counts of spins, even where they are zero.
    return any(name.startswith((_SPIN, SEEN_PREFIX)) for name in _counters(one))


def _rises(trials: Sequence[MeasuredTrial]) -> Iterator[float]:
    return (value for one in trials for name, value in _counters(one).items() if name.startswith(_SPIN))


def _counters(one: MeasuredTrial) -> Mapping[str, float]:
    return one.watched.get(_PROBE, Watched(_PROBE, 0.0)).counters
