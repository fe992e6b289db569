"""The state of a running study at one instant: updated by events, drawn by `progress_line` and the live page."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dialin.model.progress import HostProgress, Standing
from dialin.model.study import StudySpec
from dialin.model.trial import Purpose, Sample, Step, Trial
from dialin.model.verdict import Verdict
from dialin.model.workload import WorkloadSpec, latency_name
from dialin.sentences.load_units import units
from dialin.sentences.log_sentences import STEPS
from dialin.sentences.names import naming
from dialin.sentences.verdict_sentences import lost_seconds_text
from dialin.text import counted, duration, number, visible

_BEHIND = 0.75
"""A host with at most this share of the median number of trials of all hosts may be shown as behind."""

_INSTRUMENTED = {Purpose.WAITS: "collecting raw waits", Purpose.PROFILE: "profiling"}
"""What is done in trials with costly instruments."""


def step_label(trial: Trial, step: Step, newest: Sample | None, levels: int) -> str:
    """Return the label of a running step, with the number of threads where a study has several levels."""
    running = STEPS[step].running
    words = _INSTRUMENTED.get(trial.purpose, running) if step is Step.MEASURE else running
    if levels and newest is not None and newest.step is step and newest.threads:
        return f"{words} with {counted(newest.threads, 'thread')}"
    return words


SPARK_SECONDS = 60
"""Samples that a board keeps by default."""

_MOST_LINES = 50
_BARS = "▁▂▃▄▅▆▇█"
_ASCII_BARS = "_.-=+*%#"


@dataclass(slots=True)
class Board:
    """The figures of a running study; a watcher writes them, what draws reads them.

    Attributes:
        blocks: about how many blocks are planned; of a tune, about how many trials.
        began: when the study was started or resumed, seconds since the epoch.
        ends: when the study is estimated to end, seconds since the epoch.
    """

    spec: StudySpec | None = None
    blocks: int = 0
    began: float = 0.0
    ends: float = 0.0
    trial: Trial | None = None
    step: Step | None = None
    step_began: float = 0.0
    seconds: deque[Sample] = field(default_factory=lambda: deque(maxlen=SPARK_SECONDS))
    standings: Mapping[str, Standing] = field(default_factory=dict)
    lines: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=_MOST_LINES))
    verdict: Verdict | None = None
    hosts: dict[str, HostProgress] = field(default_factory=dict)

    def name_hosts(self, names: Sequence[str], now: float) -> None:
        self.hosts = {name: self.hosts.get(name, HostProgress(since=now)) for name in names}

    def note_host(self, host: str, change: Callable[[HostProgress], HostProgress]) -> None:
        if host in self.hosts:
            self.hosts[host] = change(self.hosts[host])

    def host_lines(self, now: float) -> list[str]:
        """Return a line for each of several hosts: what it does, how many trials ended there, and whether it is behind."""
        if len(self.hosts) < 2:
            return []
        names = naming(self.spec).full if self.spec else {}
        behind = self.hosts_behind()
        remark = f", behind (median of all hosts {self._median_trials():g})"
        return [
            f"{visible(name)}: {_doing(host, names, now)}, {counted(host.trials, 'trial')} so far" + remark * (name in behind)
            for name, host in self.hosts.items()
        ]

    def hosts_behind(self) -> set[str]:
        """Return the hosts that are slower or joined later: they lack at least two trials, since one may be running there."""
        median = self._median_trials()
        return {name for name, host in self.hosts.items() if host.trials <= min(median - 2, _BEHIND * median)}

    def _median_trials(self) -> float:
        return statistics.median(host.trials for host in self.hosts.values()) if self.hosts else 0.0

    def begin(self, spec: StudySpec, blocks: int, seconds: float, now: float) -> None:
        self.spec, self.blocks, self.began, self.ends = spec, blocks, now, now + seconds

    def begin_trial(self, trial: Trial, seconds_left: float, now: float) -> None:
        self.trial, self.step, self.ends = trial, None, now + seconds_left
        self.seconds.clear()
        self.note_host(trial.host, lambda one: one.began(trial, now))

    def begin_step(self, step: Step, now: float) -> None:
        self.step, self.step_began = step, now

    def end_trial(self, ended: Trial, standings: Mapping[str, Standing], now: float) -> None:
        """Record the end of a trial, which need not be the one that is shown."""
        self.standings = dict(standings)
        if self.trial is None or self.trial.id == ended.id:
            self.trial, self.step = None, None
        self.note_host(ended.host, lambda one: one.ended(now))

    def standing(self, candidate: str) -> Standing:
        """Return the standing of a candidate; it has no figures before the candidate's first trial."""
        return self.standings.get(candidate, Standing(0, 0, None, None))

    def seconds_left(self, now: float) -> float:
        return max(0.0, self.ends - now)

    def block_progress(self, *, planned: bool = True) -> str:
        """Return the running block, or trial of a tune, and about how many are `planned`."""
        trial = self.trial
        if trial is None:
            return "between trials"
        if trial.purpose in _INSTRUMENTED:
            return _INSTRUMENTED[trial.purpose]
        if trial.purpose is Purpose.LONG:
            return "long windows"
        is_search = trial.purpose is Purpose.SEARCH
        of_tune = is_search or (self.spec is not None and bool(self.spec.tuned))
        number_of = trial.id if of_tune else trial.block
        name = f"{'search' if is_search else 'proof'}, trial {number_of}" if of_tune else f"block {number_of}"
        return f"{name} of about {max(self.blocks, number_of)}{' with its proof' if is_search else ''}" if planned else name

    def trial_progress(self, now: float) -> tuple[str, str, str]:
        """Return the running trial, its candidate, and its step with the time spent in it; empty texts between trials."""
        trial = self.trial
        if trial is None:
            return "", "", ""
        levels = len(self.spec.workload.levels) if self.spec else 0
        newest = self.seconds[-1] if self.seconds else None
        activity = (
            f"{step_label(trial, self.step, newest, levels)} for {duration(now - self.step_began)}" if self.step else "starting"
        )
        which = {
            Purpose.RACE: f"Trial {trial.position} of the block",
            Purpose.CONFIRM: f"Confirmation trial {trial.position} of the block",
            Purpose.WAITS: f"Trial {trial.position} for waits",
            Purpose.PROFILE: f"Trial {trial.position} for the profile",
            Purpose.SEARCH: f"Trial {trial.block} of the search",
            Purpose.OBSERVE: "Observing the baseline",
            Purpose.LONG: "Long window",
        }[trial.purpose]
        names = naming(self.spec).full if self.spec else {}
        name = names.get(trial.candidate, visible(trial.candidate))
        return which, name, activity

    def share_done(self, now: float) -> float:
        """Return how much of the estimated time has passed, from 0 to 1."""
        whole = max(self.ends, now) - self.began
        return min(1.0, max(0.0, (now - self.began) / whole)) if whole > 0 else 0.0


def _doing(host: HostProgress, names: Mapping[str, str], now: float) -> str:
    if host.trial is None:
        return f"idle for {duration(now - host.since)}"
    step = STEPS[host.step].running if host.step else "starting"
    return f"block {host.block}, {names.get(host.candidate, visible(host.candidate))}, {step} for {duration(now - host.since)}"


def study_title(spec: StudySpec) -> str:
    """Return which variables are compared, on which builds."""
    variables = ", ".join(spec.variables_under_test) or what_else(spec)
    return visible(f"{variables} on {', '.join(dict.fromkeys(candidate.server for candidate in spec.candidates))}")


def what_else(spec: StudySpec) -> str:
    """Return what a study compares that has no variables under test."""
    return "identical candidates" if spec.is_aa else "builds"


def newest_figures(samples: Sequence[Sample], workload: WorkloadSpec) -> list[str]:
    """Return the figures of the newest sample, and how many seconds of all samples were host stalls."""
    newest, unit = samples[-1], units(workload)
    name = latency_name(workload.percentile)
    latency = f"{number(newest.seconds)} s/{unit.one}" if unit.by_run else f"{name} {number(newest.latency_ms)} ms"
    figures = [f"{number(newest.tps)} {unit.rate}", latency]
    if newest.errors:
        figures.append(f"{number(newest.errors)} errors/s")
    if seconds_lost := sum(sample.lost for sample in samples):
        figures.append(lost_seconds_text(seconds_lost))
    return figures


def sparkline(values: list[float], *, ascii_bars: bool = False) -> str:
    """Return one character per value, the tallest for the largest and the scale from 0."""
    bars = _ASCII_BARS if ascii_bars else _BARS
    top = max(values, default=0.0)
    if top <= 0:
        return bars[0] * len(values)
    return "".join(bars[min(len(bars) - 1, int(max(0.0, value) / top * len(bars)))] for value in values)
