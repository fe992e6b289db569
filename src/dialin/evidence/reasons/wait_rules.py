"""Rules on waits by place and by event, one for each place and event that the server reports; rules on rows examined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dialin.evidence.measured import FigureOf, MeasuredTrial
from dialin.evidence.reasons import sources
from dialin.evidence.reasons.rule import More, ReasonRule, by_transaction, describe_reads, per_second, per_transaction, quotient
from dialin.evidence.semaphores import LOCK_KINDS, SEEN_PREFIX, waiting_threads
from dialin.model.evidence import ALL
from dialin.model.record import StudyRecord
from dialin.model.why import WaitSummary
from dialin.text import listed, number, percent, shorten, size, visible

_SECONDS = "/seconds"
_WIDTH = 80
_LEAST_WAIT = 0.005
_LEAST_THREADS = 0.05


def rules(trials: Sequence[MeasuredTrial], raw: Sequence[WaitSummary] = ()) -> Iterator[ReasonRule]:
    """Yield a rule for each place, lock, event and file that some trial reports, and one for the rows examined.

    The reason of an event names the share of its longest waits where `raw` waits have it.
    """
    yield from _semaphores(trials)
    yield from _spins(trials)
    yield from _mutexes(trials)
    yield from _events(trials, raw)
    yield from _files(trials)
    yield from _statements(trials)


def counters(trials: Sequence[MeasuredTrial], probe: str) -> list[str]:
    """Return the names of all counters of a probe in any trial, sorted."""
    return sorted({name for one in trials if (watched := one.watched.get(probe)) for name in watched.counters})


def _semaphores(trials: Sequence[MeasuredTrial]) -> Iterator[ReasonRule]:
    for name in counters(trials, "innodb"):
        if not name.startswith(SEEN_PREFIX):
            continue
        place, _, kind = name.removeprefix(SEEN_PREFIX).rpartition("/")
        of = waiting_threads(name)
        yield ReasonRule(
            "semaphore_waits",
            "semaphores",
            f"semaphore at {visible(place)} ({visible(kind)})",
            "waiting threads on average",
            sources.SEMAPHORES,
            of,
            floor=_LEAST_THREADS,
            least=0.2,
            guard=by_transaction(of),
        )


def _absent_is_zero(probe: str, counter: str) -> FigureOf:
    """Return the rate of a counter, 0 where the probe ran and did not report the counter."""

    def figure(one: MeasuredTrial) -> float | None:
        watched = one.watched.get(probe)
        return None if watched is None or watched.seconds <= 0 else watched.counters.get(counter, 0.0) / watched.seconds

    return figure


def _spins(trials: Sequence[MeasuredTrial]) -> Iterator[ReasonRule]:
    for name in counters(trials, "innodb"):
        head, _, rest = name.partition("/")
        kind, _, what = rest.partition("/")
        if head != "spin" or what not in ("rounds", "os_waits"):
            continue
        waits = what == "os_waits"
        yield ReasonRule(
            "lock_os_waits" if waits else "lock_spins",
            "semaphores",
            f"InnoDB {LOCK_KINDS.get(kind, visible(kind))}: {'OS waits' if waits else 'spin rounds'}",
            "per {one}",
            sources.SPINNING,
            per_transaction("innodb", name),
            floor=0.01 if waits else 1.0,
            least=0.2,
        )


def _mutexes(trials: Sequence[MeasuredTrial]) -> Iterator[ReasonRule]:
    for name in counters(trials, "mutex"):
        lock, _, what = name.rpartition("/")
        yield ReasonRule(
            "mutex_os_waits",
            "semaphores",
            f"{visible(lock or name)}: {what.replace('_', ' ') if lock else 'waits'}",
            "per {one}",
            sources.MUTEXES,
            by_transaction(_absent_is_zero("mutex", name)),
            floor=0.005,
            least=0.2,
        )


def _events(trials: Sequence[MeasuredTrial], raw: Sequence[WaitSummary]) -> Iterator[ReasonRule]:
    for name in counters(trials, "waits"):
        if not name.endswith(_SECONDS) or not name.startswith("wait/") or name.startswith("wait/io/table"):
            continue  # the time of a table handler includes all of its other waits
        event = name.removesuffix(_SECONDS)
        of = _absent_is_zero("waits", name)
        yield ReasonRule(
            "event_waits",
            "waits",
            visible(shorten(short_event_name(event), _WIDTH)),
            "s of wait per second",
            sources.WAIT_SUMMARIES,
            of,
            floor=_LEAST_WAIT,
            least=0.2,
            guard=by_transaction(of),
            more=_single_waits(event, raw),
        )


def short_event_name(event: str) -> str:
    """Return the short name of an event: the last part for a lock or condition, the last two parts for a file."""
    parts = event.split("/")
    return parts[-1] if parts[1:2] == ["synch"] else "/".join(parts[-2:])


def _single_waits(event: str, raw: Sequence[WaitSummary]) -> More:
    count, seconds = per_second("waits", f"{event}/count"), per_second("waits", f"{event}{_SECONDS}")

    def describe(trials: Sequence[MeasuredTrial], record: StudyRecord, other: str) -> str:
        parts = []
        for name in (record.spec.baseline, other):
            rows = [(count(one) or 0.0, seconds(one) or 0.0) for one in trials if one.trial.candidate == name]
            total_count, total_seconds = sum(n for n, _ in rows), sum(s for _, s in rows)
            if total_count > 0:
                parts.append(f"{number(1e6 * total_seconds / total_count)} µs with {visible(name)}")
        phrases = [f"a wait took {listed(parts)}"] if parts else []
        totals = [one for one in raw if (one.instrument, one.operation) == (event, ALL)]
        if compared := [one for one in totals if one.candidate in (record.spec.baseline, other)]:
            worst = max(compared, key=seconds_per_second)
            phrases.append(f"the ten longest raw waits are {percent(worst.ten_share)} of all with {visible(worst.candidate)}")
        return "; ".join(phrases)

    return describe


def seconds_per_second(one: WaitSummary) -> float:
    return one.per_second * one.mean_ns / 1e9


_SYNCED = ("wait/io/file/innodb/innodb_log_file", "wait/io/file/sql/binlog")
"""Files that stay open, so that their operations other than reads and writes are syncs."""


def _files(trials: Sequence[MeasuredTrial]) -> Iterator[ReasonRule]:
    for name in counters(trials, "waits"):
        if not name.startswith("file/"):
            continue
        event, _, what = name.removeprefix("file/").rpartition("/")
        if what == "others" and event in _SYNCED:
            yield ReasonRule(
                "file_syncs",
                "syncs",
                f"syncs of {visible(short_event_name(event))}",
                "per {one}",
                sources.FILE_SUMMARIES,
                by_transaction(_absent_is_zero("waits", name)),
                floor=0.02,
                least=0.1,
            )
        elif what == "read_bytes":
            yield ReasonRule(
                "file_read_size",
                "read size",
                f"reads of {visible(short_event_name(event))}",
                "per call",
                sources.FILE_SUMMARIES,
                quotient(per_second("waits", name), per_second("waits", f"file/{event}/reads"), least=1.0),
                floor=512,
                form=size,
                more=describe_reads(per_transaction("waits", f"file/{event}/reads"), per_transaction("waits", name)),
            )


def _statements(trials: Sequence[MeasuredTrial]) -> Iterator[ReasonRule]:
    names = [name for name in counters(trials, "statements") if name.endswith("/rows_examined")]
    if names:
        yield ReasonRule(
            "rows_examined",
            "access",
            "rows examined by statements",
            "per {one}",
            sources.DIGESTS,
            per_transaction("statements", *names),
            floor=1.0,
        )
