"""The sentences of notes on live traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dialin.cause_sentences import guard_reason
from dialin.model.cause import Cause
from dialin.model.measure import measure
from dialin.model.study import StudySpec
from dialin.model.verdict import Estimate
from dialin.report.names import name_in_sentence
from dialin.text import change, counted, percent

Figures = Mapping[str, Any]
"""The data of a note."""


def trips_text(data: Figures) -> str:
    """Return in how many of its periods a candidate tripped the guard, as a clause about it."""
    return f"the guard restored the baseline in {data['trips']} of {counted(data['periods'], 'period')}"


def _guard_tripped(spec: StudySpec, data: Figures) -> str:
    cause = Cause.read(data["cause"])
    end = ". It got no further period and is never recommended" if data["given_up"] else ""
    longest = data["restored_in"]
    back = "the baseline could NOT be restored" if longest is None else f"restored within {longest:.2f} s"
    name = name_in_sentence(spec, data["candidate"])
    return f"{name}: {trips_text(data)}, last because {guard_reason(cause.figures)}; {back}{end}"


def _load_disagrees(spec: StudySpec, data: Figures) -> str:
    noun = measure(spec.goal, spec.workload.percentile).noun
    return (
        f"Nothing is claimed of {name_in_sentence(spec, data['candidate'])}: clients sent {_ratio(data['load'])} statements "
        f"with it, and {noun} differs by {_ratio(data['with_load'])} with that counted in, by {_ratio(data['without_load'])} "
        "without. Clients that wait for answers send more to a faster server"
    )


def _carries_over(spec: StudySpec, data: Figures) -> str:
    name, of_goal = name_in_sentence(spec, data["candidate"]), measure(spec.goal, spec.workload.percentile).noun
    parts = []
    if "settling" in data:
        parts.append(f"the second half of periods differs from the first by {change(data['settling'])}")
    if "after_other" in data:
        parts.append(
            f"{of_goal} after one of its periods differs by {change(data['after_other'])} from that after the baseline"
        )
    end = ". Most of it may be still to come when a period ends, so nothing is claimed" if data["lasts"] else ""
    needed = data.get("washout_needed")
    remedy = "a longer --warmup" if needed is None else f"--warmup {needed:g}"
    return f"The effect of {name} is slow to settle: {'; '.join(parts)}{end}. Start a new study with {remedy}"


def _second_halves(_spec: StudySpec, _data: Figures) -> str:
    return (
        "An effect may take longer to settle than the washout, so second halves of periods alone were compared, and intervals "
        "reach as far as it may still go. A longer --warmup gives narrower ones"
    )


def _longer_washout(_spec: StudySpec, data: Figures) -> str:
    left_out = counted(data["shorter"], "period")
    return (
        f"An effect was slow to settle, so the washout was lengthened to {data['washout']:g} s, and the first {left_out}, with "
        "a shorter one, not compared"
    )


def _few_quads(_spec: StudySpec, data: Figures) -> str:
    return (
        f"{counted(data['quads'], 'pair')} of blocks compared so far; nothing is claimed with fewer than {data['needed']}, "
        "because a change of the load could look like an effect"
    )


def _costs_latency(spec: StudySpec, data: Figures) -> str:
    return f"{name_in_sentence(spec, data['candidate'])} raises the mean latency of statements by {_ratio(data['ratio'])}"


def _saturated(_spec: StudySpec, data: Figures) -> str:
    return (
        f"The server was saturated in {percent(data['periods'])} of the periods ({_level(data)}), so that clients had to wait "
        "for it: --goal throughput compares what it completes"
    )


def _not_saturated(_spec: StudySpec, data: Figures) -> str:
    return (
        f"Nothing is claimed of throughput: the server was saturated in {percent(data['periods'])} of the periods only "
        f"({_level(data)}); in the others its clients decided what it completed. Compare latency: leave out --goal"
    )


def _level(data: Figures) -> str:
    cpu = [] if data["cpu"] is None else [f"{percent(data['cpu'])} of its machine's CPU"]
    running = [] if data["running"] is None else [f"{data['running']:.1f} threads running"]
    return ", ".join([*cpu, *running])


def _ratio(stored: Figures) -> str:
    ratio = Estimate.model_validate(stored)
    ends = f" ({change(ratio.low)} to {change(ratio.high)})" if ratio.low is not None and ratio.high is not None else ""
    return f"{change(ratio.mean)}{ends}"


SENTENCES: Mapping[str, Callable[[StudySpec, Figures], str]] = {
    "guard_tripped": _guard_tripped,
    "load_disagrees": _load_disagrees,
    "carries_over": _carries_over,
    "few_quads": _few_quads,
    "saturated": _saturated,
    "not_saturated": _not_saturated,
    "costs_latency": _costs_latency,
    "second_halves": _second_halves,
    "longer_washout": _longer_washout,
}
"""By the code of the note."""
