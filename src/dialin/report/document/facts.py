"""How a study was made: time, trials, requested and effective values, inventory, settings."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from dialin.model.load_driver import FIRST_DRIVER, RESUMED_DRIVERS, describe_driver
from dialin.model.record import StudyRecord, kind_of
from dialin.model.setting import Value, describe, same_value
from dialin.model.study import StudySpec, Switch
from dialin.model.trial import Step, Trial, TrialState, first_driver_choices, seconds_of
from dialin.sentences.host_notes import describe_kind
from dialin.sentences.load_units import units
from dialin.sentences.log_sentences import STEPS, log_text
from dialin.sentences.names import naming
from dialin.sentences.verdict_sentences import goal
from dialin.text import NOTHING, clock_time, counted, duration, exact_percent, listed, moment, percent, size, visible

DIFFERS = "no"
"""The answer in the column `same` for a value that a server changed."""

_SWITCHES = {Switch.RESTART: "the server is restarted", Switch.SET: "variables are set in the running server"}

Pairs = list[tuple[str, str]]


def time_spent(trials: Sequence[Trial]) -> dict[str, float]:
    """Return the seconds of each step over all trials, by its name; steps that no trial took are left out."""
    steps = [step for step in Step if any(step in trial.steps for trial in trials)]
    return {STEPS[step].name: sum(trial.steps.get(step, 0.0) for trial in trials) for step in steps}


def time_sentence(trials: Sequence[Trial]) -> str:
    """Return how much of the time of trials, without waiting, was measurement."""
    spent = seconds_of(trials)
    measured = sum(trial.steps.get(Step.MEASURE, 0.0) for trial in trials)
    if not spent:
        return "No step has completed yet."
    return f"{percent(measured / spent)} of the trials' {duration(spent)} was measured load."


def requested_and_effective(record: StudyRecord) -> list[tuple[str, str, str, str, str]]:
    """Return candidates, a variable, the value that they request, the one read back after boot, and whether it is the same.

    Fixed variables are included.
    """
    first: dict[str, Trial] = {}
    for trial in record.trials:
        if trial.in_force:
            first.setdefault(trial.candidate, trial)
    labels = naming(record.spec).labels
    labels_by_row: dict[tuple[str, Value, str | None, str | None], list[str]] = {}
    for candidate in record.spec.candidates:
        for name, value in record.spec.setting_of(candidate.name).items():
            booted = first.get(candidate.name)
            reported, real = (booted.in_force.get(name), booted.real.get(name)) if booted else (None, None)
            labels_by_row.setdefault((name, value, reported, real), []).append(labels[candidate.name])
    return [
        _effective_row(*key, "all" if len(names) == len(labels) else ", ".join(names)) for key, names in labels_by_row.items()
    ]


def inventory(known: Mapping[str, Any]) -> Pairs:
    """Return an inventory as labels with values: nested names joined, bytes with a unit, control characters escaped.

    What is stored to be said in a sentence, such as a cause, is left out: it has codes.
    """
    pairs: Pairs = []
    for key, value in known.items():
        if _is_for_a_sentence(value):
            continue
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


def _is_for_a_sentence(value: Any) -> bool:
    """Return whether a value is a cause or a note, or a list of what has more than one figure."""
    if isinstance(value, Mapping):
        return "code" in value
    return isinstance(value, (list, tuple)) and any(isinstance(each, Mapping) for each in value)


def machine(record: StudyRecord) -> Pairs:
    """Return the inventory of the machine; `load_driver` says what applied the load."""
    return inventory({key: value for key, value in record.host.items() if key not in (FIRST_DRIVER, RESUMED_DRIVERS)})


def hosts(record: StudyRecord) -> list[tuple[str, str, str, str, str]]:
    """Return each host of a study on several: its name, what it is, its completed trials, its blocks, what was found there."""
    if len(record.hosts_with_trials) < 2:
        return []
    rows = []
    for name in record.hosts_with_trials:
        known = record.hosts.get(name, {})
        done = [trial for trial in record.trials if trial.host == name and trial.state is TrialState.DONE]
        blocks = {(trial.purpose, trial.block) for trial in done}
        findings = visible(listed(known["findings"])) if known.get("findings") else "none"
        kind = describe_kind(dict(kind_of(known))) or NOTHING
        rows.append((visible(name), kind, str(len(done)), str(len(blocks)), findings))
    return rows


def load_driver(record: StudyRecord) -> str:
    """Return what applied the load of a study, and what it chose, in one line; empty where that is not known."""
    return describe_driver(record.host, first_driver_choices(record.trials))


def settings(record: StudyRecord) -> Pairs:
    """Return the settings of the study: what it compares, how, and with which limits."""
    spec = record.spec
    pairs = [
        ("baseline", visible(spec.baseline)),
        ("fixed for all", visible(describe(spec.fixed)) if spec.fixed else "nothing"),
        ("pinned for all", visible(describe(spec.held)) if spec.held else "nothing"),
        ("load", visible(spec.workload.describe())),
        *([("load driver", visible(driver))] if (driver := load_driver(record)) else []),
        *([("network", text)] if (text := network(record)) else []),
        ("budget", duration(60 * spec.minutes)),
        *_measured(spec),
        ("goal", goal(record).rstrip(".")),
        ("confidence", exact_percent(spec.confidence)),
        ("smallest difference that matters", exact_percent(spec.worthwhile)),
        *([("between trials", _SWITCHES[spec.switch])] if spec.is_sandboxed else []),
        ("choice confirmed in confirmation trials", "yes" if spec.confirm else "no"),
        *([("A/A study", "yes: identical candidates")] if spec.is_aa else []),
        ("seed", str(spec.seed)),
        ("CPUs of the servers", visible(spec.server_cpus or "all")),
        *(
            [("memory limit of the server's container", listed([size(each) for each in spec.server_memory]))]
            if spec.server_memory
            else []
        ),
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


_NETWORK, _ROUND_TRIP = "network", "round_trip_ms"


def network(record: StudyRecord) -> str:
    """Return the round trip to a server on another machine and its share of a transaction; empty where it was not measured.

    By Little's law a closed loop of n threads with x transactions/s has a mean latency of n/x, of which each statement of a
    transaction waits for one round trip.
    """
    trips = {
        trial: watched[_NETWORK].gauges[_ROUND_TRIP]
        for trial, watched in record.watched.items()
        if _NETWORK in watched and _ROUND_TRIP in watched[_NETWORK].gauges
    }
    if not trips:
        return ""
    before, after = (
        statistics.median(values) for values in zip(*((one.first, one.last) for one in trips.values()), strict=True)
    )
    text = f"round trip {before:.2f} ms before the load and {after:.2f} ms after it, in the median trial"
    samples = [one for trial in trips for one in record.samples.get(trial, ()) if one.step is Step.MEASURE and one.tps > 0]
    if record.spec.workload.rate or not samples or not all(one.threads for one in samples):
        return text
    statements = statistics.median((one.reads + one.writes + one.other) / one.tps for one in samples)
    latency = statistics.median(1000 * one.threads / one.tps for one in samples)
    share = min(1.0, statements * (before + after) / 2 / latency)
    return f"{text}; a transaction waits for {statements:.0f} of them, about {percent(share)} of its {latency:.1f} ms"


def _measured(spec: StudySpec) -> Pairs:
    """Return the lengths of measurement and warm-up; a timed query has none, since it measures a number of runs."""
    if units(spec.workload).by_run:
        return []
    return [
        ("measured in each trial", "as planned" if spec.measure is None else duration(spec.measure)),
        ("warm-up at most", "as planned" if spec.warmup is None else duration(spec.warmup)),
    ]


def log_lines(record: StudyRecord) -> list[tuple[str, str]]:
    return [(clock_time(line.at), visible(log_text(line))) for line in record.log]


def _effective_row(
    name: str, requested: Value, in_force: str | None, real: str | None, candidates: str
) -> tuple[str, str, str, str, str]:
    if in_force is None:
        return candidates, visible(name), visible(requested), NOTHING, "not available"
    is_same = same_value(requested, in_force) and (real is None or not real.isdecimal() or same_value(requested, real))
    effective = visible(in_force if real is None or real == in_force else f"{in_force} (counted: {real})")
    return candidates, visible(name), visible(requested), effective, "yes" if is_same else DIFFERS
