"""The cost of one query and of one transaction, by candidate; and the cost of the probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.evidence.measured import MeasuredTrial, block_figures, queries_by_candidate
from dialin.measures.table import COSTS
from dialin.model.evidence import Watched
from dialin.model.record import StudyRecord
from dialin.model.traffic import PROBE
from dialin.model.verdict import ComparedFigure, Estimate
from dialin.model.why import CostRow, ProbeCost
from dialin.sentences.probe_notes import probe_note_text

_LEAST = 0.005
"""The cost per transaction, in the item's unit, below which an item is left out."""


@dataclass(frozen=True, slots=True)
class Item:
    """A resource that queries use.

    Attributes:
        sources: pairs of a probe and its counters, the best source first; the counters of one source are added up.
        factor: converts the counters' unit to `unit`.
    """

    name: str
    unit: str
    sources: tuple[tuple[str, tuple[str, ...]], ...]
    factor: float = 1.0


ITEMS = (
    Item("server CPU", "µs", (("process", ("server_cpu_user", "server_cpu_system")),), 1e6),
    Item("client CPU", "µs", (("process", ("client_cpu",)),), 1e6),
    Item(
        "context switches",
        "",
        (("process", ("voluntary_switches", "involuntary_switches")), ("machine", ("context_switches",))),
    ),
    Item("reads", "", (("process", ("read_calls",)), ("status", ("Innodb_data_reads",)))),
    Item("read", "KiB", (("process", ("read_bytes",)), ("status", ("Innodb_data_read",))), 1 / 1024),
    Item("written", "KiB", (("process", ("write_bytes",)), ("status", ("Innodb_data_written",))), 1 / 1024),
    Item("log", "bytes", (("status", ("Innodb_os_log_written",)), ("innodb", ("log_bytes",)))),
    Item("row lock waits", "", (("status", ("Innodb_row_lock_waits",)),)),
    Item("involuntary switches", "", (("process", ("involuntary_switches",)),)),
    Item("page faults", "", (("process", ("minor_faults", "major_faults")),)),
)
"""`read` and `written` are bytes that went to and from the disk; `reads` are system calls. `involuntary switches`
are those of the context switches in which the kernel took the CPU from a thread."""


def costs(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[CostRow]:
    """Return the cost per query and per transaction of every candidate.

    A cost per transaction is the rate of a counter divided by the rate of transactions, both over every measured second:
    seconds that the host lost count in both, because the counters include them. A cost per query is that divided by the
    candidate's queries per transaction (reads, writes and others; for a timed query, its runs). Only completed trials of the
    race count. A cost that is unknown, or negligible for every candidate, is left out. In a study with several numbers of
    threads, a cost covers all of them. A cost that is the goal has the figures of the verdict.
    """
    queries = queries_by_candidate(trials)
    rows = (_row(item, trials, record, queries) for item in ITEMS)
    return [row for row in rows if row is not None]


def cost_per_second(item: Item, one: MeasuredTrial) -> float | None:
    """Return what a trial spent per second, in the item's unit; None where no source has it."""
    for probe, counters in item.sources:
        rates = [one.rate(probe, counter) for counter in counters]
        known_rates = [rate for rate in rates if rate is not None]
        if len(known_rates) == len(rates):
            return item.factor * sum(known_rates)
    return None


def _row(item: Item, trials: Sequence[MeasuredTrial], record: StudyRecord, queries: Mapping[str, float]) -> CostRow | None:
    costs = {
        one.trial.id: cost / one.transactions
        for one in trials
        if (cost := cost_per_second(item, one)) is not None and one.transactions > 0
    }
    figures = _judged(item, record) or block_figures(costs, trials, record)
    if max((one.level.mean for one in figures.values()), default=0.0) < _LEAST:
        return None
    base = queries.get(record.spec.baseline, 1.0)
    per_query = {name: one.scaled(1 / queries[name], base / queries[name]) for name, one in figures.items() if name in queries}
    return CostRow(name=item.name, unit=item.unit, per_query=per_query, per_transaction=figures)


def _judged(item: Item, record: StudyRecord) -> dict[str, ComparedFigure]:
    """Return the cost per transaction of each candidate by the verdict; empty where that was not reached by this cost."""
    verdict, goal = record.verdict, COSTS.get(record.spec.goal)
    if verdict is None or goal is None or (goal.probe, goal.names) not in item.sources:
        return {}
    factor = item.factor / goal.scale
    return {
        one.name: ComparedFigure(
            level=Estimate.alone(factor * one.cost.mean), ratio=None if one.name == verdict.baseline else one.goal_ratio
        )
        for one in verdict.candidates
        if one.cost is not None
    }


def probe_costs(trials: Sequence[MeasuredTrial]) -> list[ProbeCost]:
    """Return the cost of each probe over all trials of the race that it watched, the probe with the longest wait first."""
    by_probe: dict[str, list[Watched]] = {}
    for one in trials:
        for name, watched in one.watched.items():
            # The load's own gauges take no reading, and the cost of watching live traffic has its own section.
            if name != PROBE and (watched.readings or watched.notes):
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
        notes=list(dict.fromkeys(probe_note_text(note) for one in watched for note in one.notes)),
    )
