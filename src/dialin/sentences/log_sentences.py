"""A line of the study's log as a sentence, built from its code and figures when it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dialin.cause_sentences import sentence, with_advice
from dialin.model.cause import Cause
from dialin.model.record import LogCode, LogLine
from dialin.model.trial import Step
from dialin.sentences.setting_notes import shown
from dialin.sentences.tune_words import brief_setting
from dialin.text import change, counted, duration, percent

Figures = Mapping[str, Any]
"""The figures of a line."""

_NOTICED = {
    Step.BOOT: "as soon as the server had started",
    Step.SET: "before the trial began",
    Step.VERIFY: "before the load began",
    Step.STOP: "after the load had ended",
}


class StepWords(NamedTuple):
    """What a step of a trial is called: by itself, while it runs, and in a sentence on what happened meanwhile."""

    name: str
    running: str
    during: str


STEPS = {
    Step.WAIT: StepWords("wait for the server", "waiting for the server", "while it waited for the server"),
    Step.PAUSE: StepWords(
        "keep the baseline",
        "keeping the baseline until the server may be changed",
        "while it waited for the server to be as usual",
    ),
    Step.RESTORE: StepWords("restore data", "restoring data", "while its data was restored"),
    Step.BOOT: StepWords("boot", "starting the server", "while the server started"),
    Step.SET: StepWords("set", "setting variables", "while its values were set"),
    Step.VERIFY: StepWords("verify", "verifying effective values", "while the server's values were read"),
    Step.WARM_UP: StepWords("warm up", "warming up", "during the warm-up"),
    Step.MEASURE: StepWords("measure", "measuring", "while it was measured"),
    Step.STOP: StepWords("stop", "stopping the server", "after it was measured"),
}


def _discarded(figures: Figures) -> str:
    changes = "; ".join(f"{_change(one)}, {_NOTICED[Step(one['step'])]}" for one in figures["changes"])
    return (
        f"{_trial(figures)} is discarded and run again, because something other than dialin changed what it measures: {changes}"
    )


def _others_changed(figures: Figures) -> str:
    changes = "; ".join(map(_change, figures["changes"]))
    return f"While trial {figures['trial']} ({figures['candidate']}) ran, variables changed that are not under test: {changes}"


def _waits(figures: Figures) -> str:
    events, lost = figures["events"], figures["lost"]
    none = "none lost" if events else "there was none"
    missing = f"{lost:,} more lost ({percent(lost / (lost + events))})" if lost else none
    return f"Collecting the raw waits of {figures['pattern']} with {figures['candidate']}: {events:,} events, {missing}"


def _trial(figures: Figures) -> str:
    return f"Trial {figures['trial']} ({figures['candidate']})"


def _change(change: Figures) -> str:
    name = change["variable"]
    return f"{name} was {shown(change['before'], name)} and is {shown(change['after'], name)}"


def _observed(figures: Figures) -> str:
    text = f"Observed {figures['seconds']} s of the baseline: {figures['per_second']:,.0f} statements/s"
    if "noise" not in figures:
        return f"{text}; that is too short to say what can be detected"
    hours = {float(name): value for name, value in figures["hours"].items()}
    detected = ", ".join(f"{percent(value)} in {duration(3600 * each)}" for each, value in sorted(hours.items()))
    trend = figures["trend"]
    drift = f"; it changed by {change(1 + trend)} per hour" if abs(trend) > 2 * figures["trend_error"] else ""
    return (
        f"{text}, latency {figures['latency_ms']:.3g} ms, noise of a period {percent(figures['noise'])}{drift}. If later "
        f"hours are like that, differences of latency can be detected from: {detected}"
    )


_SENTENCES: Mapping[LogCode, Callable[[Figures], str]] = {
    LogCode.TEXT: lambda figures: str(figures["text"]),
    LogCode.HOST_JOINED: lambda figures: f"Host {figures['host']} joins",
    LogCode.HOST_LOST: lambda figures: f"Host {figures['host']} is lost: {with_advice(Cause.read(figures['cause']))}",
    LogCode.HOST_LEFT_OUT: lambda figures: f"Host {figures['host']} is left out: {with_advice(Cause.read(figures['cause']))}",
    LogCode.STOPPED: lambda _figures: "Stopped between two blocks, as requested",
    LogCode.TRIAL_FAILED: lambda figures: (
        f"{_trial(figures)} failed {STEPS[Step(figures['step'])].during}: {with_advice(Cause.read(figures['cause']))}"
    ),
    LogCode.TRIAL_REPEATED: lambda figures: f"{_trial(figures)} is run again: the host itself stalled for most of it",
    LogCode.TRIAL_DISTURBED: lambda figures: (
        f"{_trial(figures)} is run again; its candidate is not to blame: {with_advice(Cause.read(figures['cause']))}"
    ),
    LogCode.SERVER_WENT_AWAY: lambda figures: (
        f"{_trial(figures)} is run again: the server went away during it ({sentence(Cause.read(figures['cause']))})"
    ),
    LogCode.TRIAL_DISCARDED: _discarded,
    LogCode.OTHERS_CHANGED: _others_changed,
    LogCode.LONG_WINDOW: lambda figures: (
        f"Measuring {figures['candidate']} and the baseline for {duration(figures['seconds'])} each: does the effect last?"
    ),
    LogCode.CONFIRMING: lambda figures: f"Confirming {figures['candidate']} against the baseline in confirmation trials",
    LogCode.CONFIRMING_CUT: lambda _figures: "The budget ended before the confirmation trials were complete",
    LogCode.WAITS_COLLECTED: _waits,
    LogCode.SEARCH_ENDED: lambda figures: (
        f"The search ends after {counted(figures['trials'], 'trial')}; now confirmation trials prove what it found"
    ),
    LogCode.SETTING_CHOSEN: lambda figures: f"Next setting: {brief_setting(figures['setting'])}",
    LogCode.TRIAL_CUT_SHORT: lambda figures: (
        f"Trial {figures['trial']} ended early: below {figures['floor']:,.0f} {figures['unit']}"
    ),
    LogCode.OBSERVED: _observed,
    LogCode.WASHOUT_LENGTHENED: lambda figures: (
        f"An effect is slow to settle: the washout is {figures['washout']:g} s from now on instead of {figures['before']:g} s, "
        "and earlier periods are not compared"
    ),
    LogCode.BEST_SO_FAR: lambda figures: (
        f"Best so far: {brief_setting(figures['setting'])} ({change(figures['expected'])} by the model, not proven)"
    ),
}


def log_text(line: LogLine) -> str:
    """Return a line of the log as a sentence without its full stop."""
    return _SENTENCES[line.code](line.figures)
