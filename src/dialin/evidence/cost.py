"""The cost of one query and of one transaction, by candidate; and the cost of the probes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial
from dialin.evidence.probe_notes import probe_note_text
from dialin.evidence.reasons.significance import LARGEST_RATIO_WITH_INTERVAL
from dialin.model.evidence import Watched
from dialin.model.record import StudyRecord
from dialin.model.traffic import PROBE
from dialin.model.verdict import Estimate
from dialin.model.why import CostRow, ProbeCost
from dialin.stats import blocks

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
)
"""`read` and `written` are bytes that went to and from the disk; `reads` are system calls."""


def costs(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[CostRow]:
    """Return the cost per query and per transaction of every candidate.

    A cost is the rate of a counter divided by the rate of queries (reads, writes and others; for a timed query, its runs) or of
    transactions, both over every measured second. Seconds that the host lost count in both rates, because the counters include
    them. Only completed trials of the race count. A cost that is unknown, or negligible for every candidate, is left out. In a
    study with several numbers of threads, a cost covers all of them.

    The ratio to the baseline is the ratio of the costs per transaction, within blocks. The intervals of all candidates of one
    row hold together at the study's confidence.
    """
    rows = (_row(item, trials, record) for item in ITEMS)
    return [row for row in rows if row is not None]


def cost_per_second(item: Item, one: MeasuredTrial) -> float | None:
    """Return what a trial spent per second, in the item's unit; None where no source has it."""
    for probe, counters in item.sources:
        rates = [one.rate(probe, counter) for counter in counters]
        known_rates = [rate for rate in rates if rate is not None]
        if len(known_rates) == len(rates):
            return item.factor * sum(known_rates)
    return None


def _row(item: Item, trials: Sequence[MeasuredTrial], record: StudyRecord) -> CostRow | None:
    per_query: dict[str, list[float]] = {}
    per_transaction: dict[str, list[float]] = {}
    observations = []
    for one in trials:
        cost = cost_per_second(item, one)
        if cost is None or one.transactions <= 0 or one.queries <= 0:
            continue
        per_query.setdefault(one.trial.candidate, []).append(cost / one.queries)
        per_transaction.setdefault(one.trial.candidate, []).append(cost / one.transactions)
        observations.append(one.observation(cost / one.transactions))
    if max(map(statistics.fmean, per_transaction.values()), default=0.0) < _LEAST:
        return None
    names = [name for name in measured.names(trials, record) if name in per_transaction]
    return CostRow(
        name=item.name,
        unit=item.unit,
        per_query={name: statistics.fmean(per_query[name]) for name in names},
        per_transaction={name: statistics.fmean(per_transaction[name]) for name in names},
        ratio=cost_ratios(observations, names, record.spec.baseline, 1 - record.spec.confidence),
    )


def cost_ratios(
    observations: Sequence[blocks.Observation], names: Sequence[str], baseline: str, alpha: float
) -> dict[str, Estimate]:
    """Return each candidate's cost as a ratio to the baseline's, for the candidates that common blocks connect to the baseline.

    A candidate whose cost is 0 has no ratio. Costs that differ by a factor of 50 or more have a ratio without an interval.
    """
    means = {name: statistics.fmean([one.value for one in observations if one.candidate == name]) for name in names}
    above_zero = {one.candidate for one in observations if one.value > 0}
    fit = blocks.fit_connected(observations, [name for name in names if name in above_zero], {baseline})
    if fit is None:
        return {}
    estimates = {}
    for name in fit.names:
        ratio = means[name] / means[baseline]
        has_interval = 1 / LARGEST_RATIO_WITH_INTERVAL < ratio < LARGEST_RATIO_WITH_INTERVAL
        if name != baseline:
            estimates[name] = fit.ratio(name, baseline, alpha) if has_interval else Estimate(mean=ratio, low=None, high=None)
    return estimates


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
