"""Metrics of a server and its machine over time: throughput, CPU, disk, checkpoint age, dirty pages, history list.

Each probe has its own period, so the readings of a trial are converted to equal steps of time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from dialin.model.evidence import PointColumns, Watched
from dialin.model.record import StudyRecord
from dialin.model.trial import Sample, Step, Trial, TrialState
from dialin.stats.time_steps import TimeSteps, gauges, lowest, rates, time_steps

Values = list[float | None]

_STEPS_OF_A_STUDY = 3_000
"""The most steps of time that all trials may have together, so that a report stays small."""
_FEWEST, _MOST = 60, 240
"""The bounds of the most steps of time that one trial may have."""

_ALWAYS_RISING = {"status": "Questions", "machine": "context_switches"}
"""By probe, a counter that rises with every reading. A counter that did not rise has no point at the time of a reading: the
points of this counter give the times at which the rate of the others is 0."""


@dataclass(frozen=True, slots=True)
class _Source:
    """The counters or the gauge that the values of a line come from.

    Attributes:
        names: the names of the counters that are added up, or of one gauge.
        factor: multiplies each reading.
        whole: the name of a gauge; values are divided by its mean. Empty for none.
    """

    probe: str
    names: tuple[str, ...]
    is_gauge: bool = False
    factor: float = 1.0
    whole: str = ""


@dataclass(frozen=True, slots=True)
class MetricLine:
    """A line of a panel; its values come from the first source that a trial has."""

    key: str
    label: str
    sources: tuple[_Source, ...]


@dataclass(frozen=True, slots=True)
class MetricPanel:
    """A metric, drawn as a panel of its own.

    Attributes:
        only_without: the key of a better panel on the same subject; this panel is shown only where a study lacks that one.
    """

    key: str
    title: str
    unit: str
    lines: tuple[MetricLine, ...]
    only_without: str = ""


def _rate(probe: str, *names: str, factor: float = 1.0) -> _Source:
    return _Source(probe, names, factor=factor)


def _gauge(probe: str, name: str, factor: float = 1.0, whole: str = "") -> _Source:
    return _Source(probe, (name,), is_gauge=True, factor=factor, whole=whole)


_MIB = 1 / 2**20

PANELS = (
    MetricPanel("cpu", "CPU", "CPUs", (
        MetricLine("server-cpu", "server", (_rate("process", "server_cpu_user", "server_cpu_system"),)),
        MetricLine("driver-cpu", "load driver", (_rate("process", "client_cpu"),)))),
    MetricPanel("disk-busy", "Disk busy", "% of the time", (
        MetricLine("disk-busy", "disk", (_rate("machine", "disk_busy_seconds", factor=100.0),)),)),
    MetricPanel("iops", "Disk IOPS", "operations/s", (
        MetricLine("disk-reads", "reads", (_rate("machine", "disk_reads"),)),
        MetricLine("disk-writes", "writes", (_rate("machine", "disk_writes"),)))),
    MetricPanel("innodb-io", "InnoDB data reads and writes", "operations/s", (
        MetricLine("data-reads", "reads", (_rate("status", "Innodb_data_reads"),)),
        MetricLine("data-writes", "writes", (_rate("status", "Innodb_data_writes"),))), only_without="iops"),
    MetricPanel("checkpoint-age", "Checkpoint age", "MiB", (
        MetricLine("checkpoint-age", "checkpoint age",
            (_gauge("status", "Innodb_checkpoint_age", _MIB), _gauge("innodb", "checkpoint_age", _MIB))),)),
    MetricPanel("dirty-pages", "Dirty pages", "% of the buffer pool", (
        MetricLine("dirty-pages", "dirty pages",
            (_gauge("status", "Innodb_buffer_pool_pages_dirty", 100.0, "Innodb_buffer_pool_pages_total"),
             _gauge("innodb", "dirty_pages", 100.0, "pool_size_pages"))),)),
    MetricPanel("history-list", "History list length", "undo logs", (
        MetricLine("history-list", "history list",
            (_gauge("status", "Innodb_history_list_length"), _gauge("innodb", "history_list"))),)),
)  # fmt: skip
"""The metrics that a trial may have, in the order of their panels."""

READINGS = frozenset(
    {(source.probe, name) for panel in PANELS for line in panel.lines for source in line.sources for name in source.names}
    | set(_ALWAYS_RISING.items())
)
"""The figures over time that these metrics are made of, as pairs of a probe and a name."""


@dataclass(frozen=True, slots=True)
class TrialMetrics:
    """One trial over its measured time, in equal steps; the value of a step without a measurement or reading is None.

    Attributes:
        throughput: transactions per second, in each step.
        least: the throughput of the slowest second of each step; empty where a step is a second.
        lines: the values in each step, by the key of a line.
    """

    trial: Trial
    steps: TimeSteps
    throughput: Values
    least: Values
    lines: Mapping[str, Values]

    def known(self, key: str) -> list[float]:
        return [value for value in self.lines.get(key, ()) if value is not None]

    def mean(self, key: str) -> float | None:
        """Return the mean of a line over the measured time; None where the trial does not have it."""
        known = self.known(key)
        return fmean(known) if known else None

    def most(self, key: str) -> float | None:
        """Return the highest step of a line; None where the trial does not have it."""
        return max(self.known(key), default=None)


@dataclass(frozen=True, slots=True)
class ServerMetrics:
    """The metrics of a study: the panels for which some trial has values, and the trials in the order they ran."""

    panels: Sequence[MetricPanel] = ()
    trials: Sequence[TrialMetrics] = ()


def server_metrics(record: StudyRecord) -> ServerMetrics:
    """Return the metrics of every completed trial without costly instruments that has readings over time in the record."""
    trials = [
        trial
        for trial in record.trials
        if trial.id in record.over_time and trial.state is TrialState.DONE and not trial.purpose.is_instrumented
    ]
    most = min(_MOST, max(_FEWEST, _STEPS_OF_A_STUDY // max(1, len(trials))))
    metrics = [one for trial in trials if (one := _of_trial(trial, record, most)) is not None]
    known = {key for one in metrics for key in one.lines}
    panels = [panel for panel in PANELS if any(line.key in known for line in panel.lines)]
    keys = {panel.key for panel in panels}
    return ServerMetrics([panel for panel in panels if panel.only_without not in keys], metrics)


def _of_trial(trial: Trial, record: StudyRecord, most: int) -> TrialMetrics | None:
    windows = _windows(record.samples.get(trial.id, ()))
    if not windows:
        return None
    measured = [sample for window in windows for sample in window]
    steps = time_steps(measured[0].at - measured[0].seconds, measured[-1].at, most)
    at, tps = [sample.at for sample in measured], [sample.tps for sample in measured]
    readings, watched = _by_name(record.over_time[trial.id]), record.watched.get(trial.id, {})
    lines = {}
    for panel in PANELS:
        for line in panel.lines:
            values = next((one for source in line.sources if (one := _values(source, readings, watched, steps))), None)
            if values:
                lines[line.key] = _within(values, windows, steps)
    if not lines:
        return None
    return TrialMetrics(
        trial,
        steps,
        _within(rates(at, tps, steps), windows, steps),
        _within(lowest(at, tps, steps), windows, steps) if steps.length > 1 else [],
        lines,
    )


def _windows(samples: Sequence[Sample]) -> list[list[Sample]]:
    grouped = groupby(samples, key=lambda sample: (sample.step, sample.threads))
    return [list(window) for (step, _), window in grouped if step is Step.MEASURE]


def _within(values: Values, windows: Sequence[Sequence[Sample]], steps: TimeSteps) -> Values:
    """Return the values, with None in each step that lies outside of the measured windows."""
    spans = [(window[0].at - window[0].seconds, window[-1].at) for window in windows]
    middles = [steps.begin + steps.length * (place + 0.5) for place in range(steps.count)]
    return [
        value if any(begin <= middle <= end for begin, end in spans) else None
        for value, middle in zip(values, middles, strict=True)
    ]


_Readings = Mapping[tuple[str, str], tuple[list[float], list[float]]]


def _by_name(points: PointColumns) -> _Readings:
    readings: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for at, which, value in zip(points.at, points.which, points.value, strict=True):
        times, values = readings.setdefault(points.names[which], ([], []))
        times.append(at)
        values.append(value)
    return readings


def _values(source: _Source, readings: _Readings, watched: Mapping[str, Watched], steps: TimeSteps) -> Values | None:
    """Return a source's values in each step; None where the trial does not have it."""
    summary = watched.get(source.probe)
    if summary is None:
        return None
    if not source.is_gauge:
        return _summed(source, readings, summary, steps)
    at, values = readings.get((source.probe, source.names[0]), ([], []))
    whole = summary.gauges.get(source.whole)
    if not at or (source.whole and (whole is None or whole.mean <= 0)):
        return None
    factor = source.factor / whole.mean if whole else source.factor
    return gauges(at, [factor * value for value in values], steps)


def _summed(source: _Source, readings: _Readings, summary: Watched, steps: TimeSteps) -> Values | None:
    if not any(name in summary.counters for name in source.names):
        return None
    times_of_readings, _ = readings.get((source.probe, _ALWAYS_RISING.get(source.probe, "")), ([], []))
    total = dict.fromkeys(times_of_readings, 0.0)
    for name in source.names:
        for at, value in zip(*readings.get((source.probe, name), ([], [])), strict=True):
            total[at] = total.get(at, 0.0) + source.factor * value
    times = sorted(total)
    return rates(times, [total[at] for at in times], steps) if times else None
