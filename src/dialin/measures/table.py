"""The measures that a study can optimize: one row each, with all that dialin knows of it.

A new measure is a member of `Goal` and a row here. A row without a field does not pass mypy, a goal without a row no test.
Where a measure is allowed follows from how it can be read: `of_traffic` for live traffic, `of_run` for logs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dialin.model.study import Goal, StudySpec
from dialin.model.workload import MEAN, latency_name
from dialin.text import exact_percent, listed, number, percent

if TYPE_CHECKING:  # `--help` shows this table, and must not wait for the mathematics
    from dialin.model.analysis import RunAnalysis
    from dialin.model.traffic import TrafficTotals
    from dialin.model.verdict import CandidateVerdict, Estimate
    from dialin.stats.trial_figures import Figures

PROCESS, STATUS = "process", "status"
"""The probes that count what a transaction costs."""
LOG_FSYNCS = "Innodb_os_log_fsyncs"
"""Servers with this status variable count the redo log in `Innodb_data_...` as well: all but MariaDB 10.8 and later."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters whose rises are added up to a cost.

    Attributes:
        scale: converts their sum to the unit of the measure.
        redo_log: is added on servers that count the redo log apart from the rest: those without `LOG_FSYNCS`.
    """

    probe: str
    names: tuple[str, ...]
    scale: float = 1.0
    redo_log: str = ""

    def on(self, server: Container[str]) -> tuple[str, ...]:
        """Return the counters that are added up on a server that has so many."""
        return (*self.names, self.redo_log) if self.redo_log and LOG_FSYNCS not in server else self.names


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure; its texts may have `{unit}`, what the load counts, and `{latency}`, such as p95.

    Attributes:
        name: in a sentence where it is known how the measure is defined, such as `latency`.
        noun: in any other sentence, and `short` in a table.
        aim: the goal with its measure.
        help: how `--help` explains it; empty where the name of the goal is enough.
        unit: of its figure; None for that of the load's throughput.
        show: writes a figure.
        worse: what a candidate is whose figure is worse.
        worthwhile: the default of the smallest relative difference that matters, larger for a figure that varies more;
            `worthwhile_of_tune` that of a tune, because every variable that changes has to be maintained.
        noise: the range of the noise that a tune expects of a trial before any is repeated; see `search.trial_records.Options`.
        seconds: the default seconds that a tune measures in a trial: more short trials beat fewer long ones.
        varies_at_rate: candidates that keep up with a fixed rate of transactions may differ in it.
        least: figures below this are as good as this one: no clock or counter is better, and 0 has no logarithm.
        of_trial: reads it from a trial; None where that does not show it.
        error: its relative standard error by the trial's own seconds or readings; 0 where they do not show it.
        of_traffic: reads it from live traffic, with the mix of statements that latency is compared in.
        of_run: reads it from a log.
        level: reads it from a verdict.
        counters: what it counts where it is a cost to the server; None for other measures.
    """

    goal: Goal
    name: str
    noun: str
    short: str
    aim: str
    help: str
    unit: str | None
    show: Callable[[float | None], str]
    higher_is_better: bool
    worse: str
    worthwhile: float
    worthwhile_of_tune: float
    noise: tuple[float, float]
    seconds: float
    varies_at_rate: bool
    least: float
    of_trial: Callable[[Figures], float | None]
    error: Callable[[Figures], float]
    of_traffic: Callable[[TrafficTotals, Mapping[str, float]], float | None] | None
    of_run: Callable[[RunAnalysis], float | None] | None
    level: Callable[[CandidateVerdict], Estimate | None]
    counters: Counters | None

    @property
    def direction(self) -> str:
        return "higher is better" if self.higher_is_better else "lower is better"

    @property
    def phrase(self) -> str:
        """The noun as it stands in a sentence before `against the baseline`, with the direction where lower is better."""
        return self.noun if self.higher_is_better else f"{self.noun}, {self.direction},"

    @property
    def title(self) -> str:
        """The title of a column of its figures, with their unit."""
        return f"{self.short} {self.unit or ''}".rstrip()

    def unit_or(self, of_throughput: str) -> str:
        """Return the unit of its figures, or that of the load's throughput where this is the measure."""
        return of_throughput if self.unit is None else self.unit

    def figure(self, value: float, of_throughput: str) -> str:
        return f"{self.show(value)} {self.unit_or(of_throughput)}".rstrip()

    def axis(self, of_throughput: str) -> str:
        """Return the title of an axis of its figures: the unit alone for throughput, else the noun with the unit."""
        return of_throughput if self.unit is None else f"{self.noun}, {self.unit}".rstrip(", ")

    def compared(self, figure: float) -> float:
        """Return a figure in the direction of all comparisons, the higher the better: the inverse where lower is better."""
        return figure if self.higher_is_better else 1 / max(figure, self.least)

    def of_compared(self, estimate: Estimate | None) -> Estimate | None:
        """Return the level or the ratio of the measure itself; None where nothing was done, so that it has none."""
        if estimate is None or self.higher_is_better:
            return estimate
        return estimate.inverted() if estimate.mean > 0 else None

    def filled(self, percentile: int, unit: str) -> Measure:
        """Return the measure with its texts for one load."""
        latency = latency_name(percentile)
        mix = " in one mix of statements" if percentile == MEAN else ""

        def fill(text: str) -> str:
            return text.format(unit=unit, latency=latency, mix=mix)

        return replace(self, name=fill(self.name), noun=fill(self.noun), short=fill(self.short), aim=fill(self.aim))


def _cost(
    goal: Goal, noun: str, short: str, unit: str, worse: str, help_text: str, counters: Counters, *, seconds: float = 15.0
) -> Measure:
    """Return the row of a measure that is a cost of one transaction, counted by a probe."""

    def of_traffic(totals: TrafficTotals, _mix: Mapping[str, float]) -> float | None:
        amount = totals.cost(goal)
        return None if amount is None else counters.scale * amount

    def of_trial(figures: Figures) -> float | None:
        if figures.traffic is not None:
            return of_traffic(figures.traffic.totals, {})
        known = figures.per_transaction.get(goal)
        return None if known is None else known.value

    return Measure(
        goal=goal,
        name=noun,
        noun=noun,
        short=short,
        aim=noun,
        help=help_text,
        unit=unit,
        show=number,
        higher_is_better=False,
        worse=worse,
        worthwhile=0.05,
        worthwhile_of_tune=0.05,
        noise=(0.02, 0.25),
        seconds=seconds,
        varies_at_rate=True,
        least=0.001,
        of_trial=of_trial,
        error=lambda figures: figures.per_transaction[goal].error if goal in figures.per_transaction else 0.0,
        of_traffic=of_traffic,
        of_run=None,
        level=lambda candidate: candidate.cost,
        counters=counters,
    )


_ROWS = (
    Measure(
        goal=Goal.THROUGHPUT,
        name="throughput",
        noun="throughput",
        short="tps",
        aim="throughput",
        help="",
        unit=None,
        show=number,
        higher_is_better=True,
        worse="slower",
        worthwhile=0.01,
        worthwhile_of_tune=0.02,
        noise=(0.02, 0.12),
        seconds=15.0,
        varies_at_rate=False,
        least=0.0,
        of_trial=lambda figures: figures.window.mean,
        error=lambda figures: figures.error,
        of_traffic=lambda totals, _: totals.per_second,
        of_run=lambda run: run.tps,
        level=lambda candidate: candidate.tps,
        counters=None,
    ),
    Measure(
        goal=Goal.STABILITY,
        name="variation",
        noun="variation (CV)",
        short="CV",
        aim="stability, by the variation (CV) of seconds",
        help="variation of seconds",
        unit="",
        show=percent,
        higher_is_better=False,
        worse="less steady",
        worthwhile=0.25,
        worthwhile_of_tune=0.25,
        noise=(0.08, 0.7),
        seconds=30.0,
        varies_at_rate=False,
        least=0.001,
        of_trial=lambda figures: figures.window.cv if figures.window.mean > 0 else None,
        error=lambda figures: figures.cv_error,
        of_traffic=None,
        of_run=lambda run: run.cv if run.tps > 0 else None,
        level=lambda candidate: candidate.cv,
        counters=None,
    ),
    Measure(
        goal=Goal.LATENCY,
        name="latency",
        noun="{latency} latency",
        short="{latency}",
        aim="latency, by its {latency}{mix}",
        help="",
        unit="ms",
        show=number,
        higher_is_better=False,
        worse="slower to answer",
        worthwhile=0.05,
        worthwhile_of_tune=0.05,
        noise=(0.03, 0.25),
        seconds=15.0,
        varies_at_rate=True,
        least=1e-6,
        of_trial=lambda figures: figures.latency,
        error=lambda figures: figures.latency_error,
        of_traffic=lambda totals, mix: totals.latency(mix),
        of_run=lambda run: run.latency_ms,
        level=lambda candidate: candidate.latency_ms,
        counters=None,
    ),
    _cost(
        Goal.CPU,
        "CPU per {unit}",
        "CPU/{unit}",
        "ms",
        "dearer in CPU",
        "of the server",
        Counters(PROCESS, ("server_cpu_user", "server_cpu_system"), 1000.0),
    ),
    _cost(
        Goal.IO,
        "InnoDB I/O per {unit}",
        "I/O/{unit}",
        "KiB",
        "dearer in I/O",
        "KiB of InnoDB",
        Counters(STATUS, ("Innodb_data_read", "Innodb_data_written"), 1 / 1024, redo_log="Innodb_os_log_written"),
        seconds=30.0,
    ),
    _cost(
        Goal.IOPS,
        "InnoDB I/O operations per {unit}",
        "I/O operations/{unit}",
        "",
        "dearer in I/O operations",
        "operations of InnoDB",
        Counters(STATUS, ("Innodb_data_reads", "Innodb_data_writes", "Innodb_data_fsyncs"), redo_log="Innodb_log_writes"),
        seconds=30.0,
    ),
    _cost(
        Goal.PAGES,
        "pages read per {unit}",
        "pages/{unit}",
        "",
        "dearer in pages",
        "of the buffer pool",
        Counters(STATUS, ("Innodb_buffer_pool_read_requests",)),
    ),
    _cost(
        Goal.ROWS,
        "rows read per {unit}",
        "rows/{unit}",
        "",
        "dearer in rows",
        "read",
        Counters(STATUS, ("Innodb_rows_read",)),
    ),
)

MEASURES: Mapping[Goal, Measure] = {row.goal: row for row in _ROWS}
COSTS: Mapping[Goal, Counters] = {row.goal: row.counters for row in _ROWS if row.counters is not None}
"""The measures that are a cost of one transaction, with what they count."""


def explain() -> str:
    """Return the goals with what each means, for help."""
    known = {row.goal: f"{row.goal} ({row.help})" if row.help else row.goal.value for row in _ROWS}
    first = [text for goal, text in known.items() if goal not in COSTS]
    return f"{', '.join(first)}, or per transaction {listed([known[goal] for goal in COSTS])}"


def default_of(goal: Goal) -> str:
    """Return the smallest difference that matters by default, in words."""
    return f"{exact_percent(MEASURES[goal].worthwhile)} of {MEASURES[goal].name}"


def explain_worthwhile(of: Callable[[Measure], float] = lambda row: row.worthwhile) -> str:
    """Return the smallest differences that matter by default, in words, for help; `of` reads them from a measure."""
    names: dict[float, list[str]] = {}
    for row in _ROWS:
        known, name = names.setdefault(of(row), []), "a cost" if row.goal in COSTS else row.name
        if name not in known:
            known.append(name)
    return ", ".join(f"{exact_percent(share)} of {' or '.join(known)}" for share, known in names.items())


def explain_seconds() -> str:
    """Return for how many seconds a trial of a tune measures by default, in words, for help."""
    usual = MEASURES[Goal.THROUGHPUT].seconds
    others: dict[float, list[str]] = {}
    for row in _ROWS:
        if row.seconds != usual:
            others.setdefault(row.seconds, []).append(row.goal)
    return ", ".join([f"{usual:g}", *(f"or {seconds:g} for --goal {listed(goals)}" for seconds, goals in others.items())])


def goals_of_traffic() -> list[Goal]:
    return [row.goal for row in _ROWS if row.of_traffic is not None]


def goals_of_logs() -> list[Goal]:
    """Return the goals that logs of runs made elsewhere can have."""
    return [row.goal for row in _ROWS if row.of_run is not None]


def measure_of_study(spec: StudySpec) -> Measure:
    """Return what a study optimizes, with its texts for the study's load."""
    return MEASURES[spec.goal].filled(spec.workload.percentile, spec.workload.traits.unit)
