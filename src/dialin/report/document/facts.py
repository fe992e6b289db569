"""How a study was made: time, trials, requested and effective values, inventory, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialin.cause_sentences import with_advice
from dialin.model.load_driver import FIRST_DRIVER, LATER_DRIVERS, describe_driver
from dialin.model.record import StudyRecord
from dialin.model.setting import Value, describe, same_value
from dialin.model.study import StudySpec, Switch
from dialin.model.trial import Purpose, Step, Trial, TrialState, first_driver_choices
from dialin.report.charts.trial_series import Series
from dialin.report.load_units import units
from dialin.report.log_sentences import log_text
from dialin.report.names import naming
from dialin.report.verdict_sentences import goal
from dialin.text import (
    NOTHING,
    clock_time,
    counted,
    duration,
    exact_percent,
    moment,
    number,
    percent,
    size,
    visible,
    visible_lines,
)

STEP_NAMES = {
    Step.WAIT: "wait for the server",
    Step.RESTORE: "restore data",
    Step.BOOT: "boot",
    Step.SET: "set",
    Step.VERIFY: "verify",
    Step.WARM_UP: "warm up",
    Step.MEASURE: "measure",
    Step.STOP: "stop",
}
"""A step of a trial, as a noun."""

PURPOSES = {
    Purpose.RACE: "race",
    Purpose.CONFIRM: "confirm",
    Purpose.WAITS: "waits",
    Purpose.SEARCH: "search",
    Purpose.OBSERVE: "observe",
}
"""What a trial is for, in a word."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Wall-clock time of one step over all trials."""

    name: str
    time: str
    share: float
    shown: str


@dataclass(frozen=True, slots=True)
class Forced:
    """One variable: what candidates asked for, and what their servers said after boot."""

    candidates: str
    name: str
    requested: str
    in_force: str
    same: str
    is_other: bool


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial in the table of all trials."""

    id: int
    block: int
    candidate: str
    purpose: str
    state: str
    started: str
    warm_up: str
    measured: str
    lost: str
    tps: str
    server_cpu: str
    driver_cpu: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A failed trial with its reason and the end of its log."""

    id: int
    block: int
    candidate: str
    reason: str
    log_tail: str


_SWITCHES = {Switch.RESTART: "the server is restarted", Switch.SET: "variables are set in the running server"}

Pairs = list[tuple[str, str]]


def time_spent(trials: Sequence[Trial]) -> list[Spent]:
    """Return the time of each step over all trials and its share of the total; steps that no trial took are left out."""
    taken = [step for step in Step if any(step in trial.steps for trial in trials)]
    totals = {step: sum(trial.steps.get(step, 0.0) for trial in trials) for step in taken}
    whole = sum(totals.values())
    return [
        Spent(STEP_NAMES[step], duration(spent), spent / whole, percent(spent / whole))
        for step, spent in totals.items()
        if whole > 0
    ]


def time_sentence(trials: Sequence[Trial]) -> str:
    """Return how much of the trials' wall clock was measurement."""
    spent = sum(sum(trial.steps.values()) for trial in trials)
    measured = sum(trial.steps.get(Step.MEASURE, 0.0) for trial in trials)
    if not spent:
        return "No step has completed yet."
    return f"{percent(measured / spent)} of the trials' {duration(spent)} was measured load."


def trial_rows(series: Sequence[Series]) -> list[TrialRow]:
    """Return every trial in the order it ran."""
    return [_trial_row(one) for one in series]


def failures(trials: Sequence[Trial]) -> list[Failed]:
    """Return the failed trials."""
    return [
        Failed(
            trial.id,
            trial.block,
            trial.candidate,
            visible(with_advice(trial.failure.cause)),
            visible_lines(trial.failure.log_tail),
        )
        for trial in trials
        if trial.failure is not None and trial.state is TrialState.FAILED
    ]


def requested_and_effective(record: StudyRecord) -> list[Forced]:
    """Return the values that candidates request, fixed variables included, beside those read back after boot."""
    first: dict[str, Trial] = {}
    for trial in record.trials:
        if trial.in_force:
            first.setdefault(trial.candidate, trial)
    labels = naming(record.spec).labels
    labels_by_row: dict[tuple[str, Value, str | None, str | None], list[str]] = {}
    for candidate in record.spec.candidates:
        for name, value in record.spec.setting_of(candidate.name).items():
            booted = first.get(candidate.name)
            said, real = (booted.in_force.get(name), booted.real.get(name)) if booted else (None, None)
            labels_by_row.setdefault((name, value, said, real), []).append(labels[candidate.name])
    return [_forced(*key, "all" if len(names) == len(labels) else ", ".join(names)) for key, names in labels_by_row.items()]


def inventory(known: Mapping[str, Any]) -> Pairs:
    """Return an inventory as labels with values: nested names joined, bytes in their unit, all of it visible."""
    pairs: Pairs = []
    for key, value in known.items():
        label = visible(key).replace("_", " ")
        if isinstance(value, Mapping):
            pairs += [(f"{label}: {inner}", text) for inner, text in inventory(value)]
        elif key.endswith("_bytes") and isinstance(value, (int, float)):
            pairs.append((label.removesuffix(" bytes"), size(value)))
        elif isinstance(value, float):
            pairs.append((label, f"{value:.4g}"))
        elif isinstance(value, bool):
            pairs.append((label, "yes" if value else "no"))
        elif isinstance(value, (list, tuple)):
            pairs.append((label, visible(", ".join(map(str, value))) or NOTHING))
        else:
            pairs.append((label, NOTHING if value is None else visible(value)))
    return pairs


def machine(record: StudyRecord) -> Pairs:
    """Return the inventory of the machine; `load_driver` says what applied the load."""
    return inventory({key: value for key, value in record.host.items() if key not in (FIRST_DRIVER, LATER_DRIVERS)})


def load_driver(record: StudyRecord) -> str:
    """Return what applied the load of a study, and what it chose, in one line; empty where that is not known."""
    return describe_driver(record.host, first_driver_choices(record.trials))


def settings(record: StudyRecord) -> Pairs:
    """Return the question of the study: what it compares, how, and with which limits."""
    spec = record.spec
    pairs = [
        ("baseline", visible(spec.baseline)),
        ("fixed for all", visible(describe(spec.fixed)) if spec.fixed else "nothing"),
        ("pinned for all", visible(describe(spec.held)) if spec.held else "nothing"),
        ("load", visible(spec.workload.describe())),
        *([("load driver", visible(driver))] if (driver := load_driver(record)) else []),
        ("budget", duration(60 * spec.minutes)),
        *_measured(spec),
        ("goal", goal(record).rstrip(".")),
        ("confidence", exact_percent(spec.confidence)),
        ("smallest difference that matters", exact_percent(spec.worthwhile)),
        *([("between trials", _SWITCHES[spec.switch])] if spec.attachment is None else []),
        ("choice confirmed in fresh trials", "yes" if spec.confirm else "no"),
        *([("A/A study", "yes: identical candidates")] if spec.aa else []),
        ("seed", str(spec.seed)),
        ("CPUs of the servers", visible(spec.server_cpus or "all")),
        ("CPUs of the load driver", visible(spec.load_cpus or "all")),
        ("weaker durability accepted", "yes" if spec.accept_weaker_durability else "no"),
        ("began", moment(record.created)),
        ("directory", visible(record.directory)),
        ("dialin", visible(record.dialin_version)),
    ]
    if record.looks:
        blocks = ", ".join(str(look.blocks) for look in record.looks)
        pairs.append(("interim analyses", f"{len(record.looks)}, after {blocks} blocks"))
    sessions = len({trial.session for trial in record.trials})
    if sessions > 1:
        pairs.append(("sessions", f"{sessions}; the study was resumed {counted(sessions - 1, 'time')}"))
    return pairs


def _measured(spec: StudySpec) -> Pairs:
    """Return the lengths of measurement and warm-up; a timed query has none, since it measures a number of runs."""
    if units(spec.workload).by_run:
        return []
    return [
        ("measured in each trial", "as planned" if spec.measure is None else duration(spec.measure)),
        ("warm-up at most", "as planned" if spec.warmup is None else duration(spec.warmup)),
    ]


def log_lines(record: StudyRecord) -> list[tuple[str, str]]:
    """Return the study's log."""
    return [(clock_time(line.at), visible(log_text(line))) for line in record.log]


def _forced(name: str, requested: Value, in_force: str | None, real: str | None, candidates: str) -> Forced:
    if in_force is None:
        return Forced(candidates, visible(name), visible(requested), NOTHING, "not available", is_other=False)
    so = same_value(requested, in_force) and (real is None or not real.isdecimal() or same_value(requested, real))
    shown = visible(in_force if real is None or real == in_force else f"{in_force} (counted: {real})")
    return Forced(candidates, visible(name), visible(requested), shown, "yes" if so else "no", is_other=not so)


def _trial_row(one: Series) -> TrialRow:
    trial, costs = one.trial, one.trial.costs
    warm = trial.steps.get(Step.WARM_UP)
    warm_text = NOTHING if warm is None else duration(warm) + (f", {trial.warm_up_end}" if trial.warm_up_end else "")
    return TrialRow(
        id=trial.id,
        block=trial.block,
        candidate=trial.candidate,
        purpose=PURPOSES[trial.purpose],
        state=str(trial.state) if one.steady else f"{trial.state}, not steady",
        started=clock_time(trial.started),
        warm_up=warm_text,
        measured=duration(trial.steps[Step.MEASURE]) if Step.MEASURE in trial.steps else NOTHING,
        lost=str(one.lost_seconds) if one.lost_seconds else "",
        tps=number(one.mean),
        server_cpu=number(costs.server_cpu / costs.seconds)
        if costs and costs.seconds and costs.server_cpu is not None
        else NOTHING,
        driver_cpu=percent(costs.driver_cpu / costs.seconds / costs.driver_cpus)
        if costs and costs.seconds and costs.driver_cpus
        else NOTHING,
    )
